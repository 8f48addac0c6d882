//! Updates that proxies refused, and the object that is to blame for each.

use std::cmp::Reverse;

use crate::finding::{Evidence, Finding};
use crate::rules::Facts;
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::Section;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::istiod::syncz::SyncStatus;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::policies::Workload;
use meshladder_mesh::scope::is_router;
use meshladder_mesh::{Object, PodFacts, gateways};
use meshladder_text::tree::Node;

/// What the rules built on this look at when it is there.
pub(super) const USES: Inputs = Inputs::of(&[
    Kind::EnvoyFilter,
    Kind::Service,
    Kind::Gateway,
    Kind::ServiceEntry,
    Kind::DestinationRule,
    Kind::Sidecar,
])
.and(&[Part::Istiod, Part::Proxies]);

/// One refusal, by all proxies that refuse for the same reason.
pub(super) struct Rejection<'f> {
    /// `LDS`, `RDS`, …
    pub(super) kind: String,
    /// Envoy's words.
    pub(super) text: String,
    pub(super) pods: Vec<&'f PodFacts>,
    pub(super) evidence: Vec<Evidence>,
}

/// What is to blame.
pub(super) enum Blame<'f> {
    /// Two Gateways or ServiceEntries that claim the same; the newer one first.
    Duplicate(&'f Object, &'f Object, &'f Node),
    /// A Service whose host leaves a virtual host without a domain.
    ExternalName(&'f Object),
    /// The proxy does not know what istiod sends: its version and istiod's.
    VersionSkew(String, String),
    /// A patch that does not fit.
    EnvoyFilter(&'f Object, &'f Node),
    /// Another object whose name is in the text.
    Other(&'f Object),
    /// Nothing that is here.
    Unknown,
}

/// Every refusal.
pub(super) fn all<'f>(facts: &Facts<'f>) -> Vec<Rejection<'f>> {
    let mut found: Vec<Rejection<'f>> = Vec::new();
    for pod in facts.mesh.pods.iter().filter(|pod| pod.has_proxy) {
        for (kind, text, proof) in of_pod(facts, pod) {
            let same = |known: &&mut Rejection<'f>| known.kind == kind && alike(&known.text, &text);
            if let Some(known) = found.iter_mut().find(same) {
                if !known.pods.iter().any(|other| std::ptr::eq(*other, pod)) {
                    known.pods.push(pod);
                }
                known.evidence.push(proof);
            } else {
                found.push(Rejection {
                    kind,
                    text,
                    pods: vec![pod],
                    evidence: vec![proof],
                });
            }
        }
    }
    found
}

/// istiod repeats what the proxy said with a few words before it.
fn alike(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    a.ends_with(b) || b.ends_with(a)
}

fn of_pod(facts: &Facts<'_>, pod: &PodFacts) -> Vec<(String, String, Evidence)> {
    let streams = facts.fleet.streams_of(&pod.namespace, &pod.name);
    let told = streams.flat_map(|stream| {
        let refused = stream
            .types
            .iter()
            .filter(|(_, watch)| watch.sync == SyncStatus::Error);
        refused.map(move |(kind, watch)| {
            let proof = Evidence::offset(
                &stream.doc,
                stream.at,
                format!("what {} answered to {kind}", stream.pod),
            );
            (kind.clone(), watch.error.clone(), proof)
        })
    });
    let summary = facts.fleet.proxy(&pod.namespace, &pod.name);
    let own = summary
        .into_iter()
        .flat_map(|summary| &summary.rejected)
        .map(|rejected| {
            let kind = short(rejected.section);
            let what = if rejected.name.is_empty() {
                kind
            } else {
                &rejected.name
            };
            let proof = Evidence::offset(
                &rejected.doc,
                rejected.at,
                format!("{what} refused by {}", pod.name),
            );
            (kind.to_owned(), rejected.details.clone(), proof)
        });
    told.chain(own).collect()
}

fn short(section: Section) -> &'static str {
    match section {
        Section::Listeners => "LDS",
        Section::Routes | Section::ScopedRoutes => "RDS",
        Section::Clusters => "CDS",
        Section::Endpoints => "EDS",
        Section::Secrets => "SDS",
        Section::Ecds => "ECDS",
        Section::Bootstrap => "bootstrap",
    }
}

impl<'f> Rejection<'f> {
    /// What is to blame. The text decides what is looked for, and the objects whether it is there.
    pub(super) fn blame(&self, facts: &Facts<'f>) -> Blame<'f> {
        let Some(pod) = self
            .pods
            .first()
            .and_then(|pod| facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name))
        else {
            return Blame::Unknown;
        };
        let says = |words: &[&str]| words.iter().any(|word| self.text.contains(word));
        let filter = self.envoy_filter(facts, pod);
        if let Some((filter, node, _)) = filter.filter(|(_, _, score)| *score >= CERTAIN) {
            return Blame::EnvoyFilter(filter, node);
        }
        if says(&[
            "multiple filter chains",
            "duplicate listener",
            "duplicate address",
        ]) && let Some((newer, older, node)) = duplicate(facts, pod)
        {
            return Blame::Duplicate(newer, older, node);
        }
        if says(&["Domains", "omains are permitted"])
            && let Some(service) = self.external_name(facts)
        {
            return Blame::ExternalName(service);
        }
        if says(UNKNOWN_TO_ENVOY)
            && let Some((proxy, istiod)) = skew(facts, pod)
        {
            return Blame::VersionSkew(proxy, istiod);
        }
        if let Some((filter, node, _)) = filter {
            return Blame::EnvoyFilter(filter, node);
        }
        self.named(facts, pod).map_or(Blame::Unknown, Blame::Other)
    }

    /// The EnvoyFilter that reaches the proxy and fits the text best; of equals the newest.
    fn envoy_filter(
        &self,
        facts: &Facts<'f>,
        pod: &'f Object,
    ) -> Option<(&'f Object, &'f Node, u8)> {
        let filters = facts.mesh.policies(Kind::EnvoyFilter, &Workload::of(pod));
        let patches = filters.iter().flat_map(|filter| {
            filter
                .spec_list("configPatches")
                .iter()
                .map(|patch| (*filter, patch, self.fits(patch, pod)))
        });
        patches
            .filter(|(.., score)| *score > 0)
            .min_by_key(|(filter, _, score)| {
                (
                    Reverse(*score),
                    Reverse((filter.created(), filter.id.clone())),
                )
            })
    }

    /// How well a patch explains the text; 0 when it cannot.
    fn fits(&self, patch: &Node, pod: &Object) -> u8 {
        let applies_to = match patch.str_at("applyTo").unwrap_or_default() {
            "LISTENER" | "FILTER_CHAIN" | "NETWORK_FILTER" | "HTTP_FILTER" | "LISTENER_FILTER" => {
                "LDS"
            }
            "ROUTE_CONFIGURATION" | "VIRTUAL_HOST" | "HTTP_ROUTE" => "RDS",
            "CLUSTER" => "CDS",
            "EXTENSION_CONFIG" => "ECDS",
            _ => "",
        };
        let context = patch
            .at(["match", "context"])
            .and_then(Node::str)
            .unwrap_or("ANY");
        let wants = if is_router(pod) {
            context == "GATEWAY"
        } else {
            context.starts_with("SIDECAR")
        };
        if applies_to != self.kind || !(wants || context == "ANY") {
            return 0;
        }
        let inbound = self.text.contains("virtualInbound");
        if (inbound && context == "SIDECAR_OUTBOUND")
            || (self.text.contains("0.0.0.0_") && context == "SIDECAR_INBOUND")
        {
            return 0;
        }
        1 + 2 * u8::from(self.mentions(patch)) + 2 * u8::from(self.leaves_router_inside(patch))
    }

    /// Whether the text has a name or type of the patch in it.
    fn mentions(&self, patch: &Node) -> bool {
        let Some(value) = patch.at(["patch", "value"]) else {
            return false;
        };
        let name = value.str_at("name");
        let kind = value
            .at(["typed_config", "@type"])
            .or_else(|| value.get("@type"))
            .and_then(Node::str);
        let url = value.at(["typed_config", "type_url"]).and_then(Node::str);
        let words = name.into_iter().chain(kind).chain(url);
        words
            .map(|word| word.strip_prefix("type.googleapis.com/").unwrap_or(word))
            .any(|word| self.text.contains(word))
    }

    /// "terminal filter […] must be the last filter": something was put behind the router.
    fn leaves_router_inside(&self, patch: &Node) -> bool {
        const TERMINAL: [&str; 3] = ["router", "http_connection_manager", "tcp_proxy"];
        let filter = patch.at(["match", "listener", "filterChain", "filter"]);
        let inner = filter.and_then(|filter| {
            filter
                .at(["subFilter", "name"])
                .or_else(|| filter.get("name"))
        });
        let is_terminal = |name: &str| TERMINAL.iter().any(|end| name.ends_with(end));
        // Added without a place, a filter comes last.
        let is_behind = match patch.at(["patch", "operation"]).and_then(Node::str) {
            Some("INSERT_AFTER") => inner.and_then(Node::str).is_none_or(is_terminal),
            Some("ADD") => true,
            _ => false,
        };
        self.text.contains("terminal filter") && is_behind
    }

    /// The Service of type ExternalName that routes are made for.
    fn external_name(&self, facts: &Facts<'f>) -> Option<&'f Object> {
        let external = facts.mesh.objects.of_kind(Kind::Service).iter();
        let external =
            external.filter(|s| s.spec_at(["type"]).and_then(Node::str) == Some("ExternalName"));
        external.max_by_key(|service| {
            let named = self
                .text
                .contains(&format!("{}.{}", service.id.name, service.id.namespace));
            let empty = service
                .spec_at(["externalName"])
                .and_then(Node::str)
                .unwrap_or_default()
                .is_empty();
            (named, empty, service.created().to_owned())
        })
    }

    /// The DestinationRule of a cluster that the text names, or an object by its name.
    fn named(&self, facts: &Facts<'f>, pod: &'f Object) -> Option<&'f Object> {
        let scope = facts.mesh.scope(pod);
        let words = self
            .text
            .split(|c: char| c.is_whitespace() || "'\"(),:".contains(c));
        let hosts = words
            .filter_map(ClusterName::parse)
            .map(|cluster| cluster.host);
        hosts.filter(|host| !host.is_empty()).find_map(|host| {
            facts
                .mesh
                .destination_rule(scope, host)?
                .rules
                .first()
                .copied()
        })
    }

    /// Puts the evidence and the sufferers on a finding that was made from the first piece.
    pub(super) fn finish(&self, finding: &mut Finding) {
        let more = self
            .evidence
            .iter()
            .filter(|proof| !finding.evidence.contains(proof))
            .cloned()
            .collect::<Vec<_>>();
        finding.evidence.extend(more);
        finding
            .hits
            .extend(self.pods.iter().map(|pod| pod.reference()));
    }

    /// `the proxies of shop/payments`
    pub(super) fn whom(&self) -> String {
        let mut names: Vec<String> = self
            .pods
            .iter()
            .map(|pod| format!("{}/{}", pod.namespace, pod.workload().name))
            .collect();
        names.sort();
        names.dedup();
        let plural = if self.pods.len() == 1 {
            "the proxy"
        } else {
            "the proxies"
        };
        match names.len() {
            0..=3 => format!("{plural} of {}", names.join(", ")),
            count => format!("{plural} of {count} workloads"),
        }
    }

    /// Envoy's words, as one line of reasonable length.
    pub(super) fn said(&self) -> String {
        const LONGEST: usize = 160;
        let line = self
            .text
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .trim_end_matches('.');
        let line = line.strip_prefix("Error: ").unwrap_or(line);
        let end = line
            .char_indices()
            .nth(LONGEST)
            .map_or(line.len(), |(at, _)| at);
        line[..end].to_owned()
    }
}

/// A patch that is named in the text, or does just what the text complains of.
const CERTAIN: u8 = 3;

const UNKNOWN_TO_ENVOY: &[&str] = &[
    "unknown field",
    "has unknown fields",
    "no such field",
    "registered implementation",
    "could not find @type",
    "Unknown extension",
];

/// Two that claim the same port and name or address at this proxy; the newer one first.
fn duplicate<'f>(facts: &Facts<'f>, pod: &'f Object) -> Option<(&'f Object, &'f Object, &'f Node)> {
    let claims: Vec<(&Object, &Node, Vec<String>)> = if is_router(pod) {
        let servers = facts
            .mesh
            .gateways_of(pod)
            .into_iter()
            .flat_map(gateways::servers);
        servers
            .map(|server| (server.gateway, server.node, server_claims(server.node)))
            .collect()
    } else {
        let entries = facts.mesh.objects.of_kind(Kind::ServiceEntry).iter();
        let seen = entries.filter(|entry| facts.mesh.is_exported_to(entry, &pod.id.namespace));
        seen.filter_map(|entry| Some((entry, entry.spec_at(["ports"])?, entry_claims(entry))))
            .collect()
    };
    let mut pairs: Vec<_> = Vec::new();
    for (i, (one, node, ours)) in claims.iter().enumerate() {
        for (other, other_node, theirs) in &claims[..i] {
            if ours.iter().any(|claim| theirs.contains(claim)) {
                let ours_is_newer = (one.created(), &one.id) >= (other.created(), &other.id);
                pairs.push(if ours_is_newer {
                    (*one, *other, *node)
                } else {
                    (*other, *one, *other_node)
                });
            }
        }
    }
    pairs
        .into_iter()
        .max_by_key(|(newer, ..)| (newer.created(), newer.id.clone()))
}

/// Port, protocol class and each host without its namespace.
fn server_claims(server: &Node) -> Vec<String> {
    let port = server
        .at(["port", "number"])
        .map(Node::to_json)
        .unwrap_or_default();
    let hosts = server
        .get("hosts")
        .map_or(&[][..], Node::items)
        .iter()
        .filter_map(Node::str);
    hosts
        .map(|host| format!("{port} {}", host.rsplit('/').next().unwrap_or(host)))
        .collect()
}

/// Port and each address, else each host.
fn entry_claims(entry: &Object) -> Vec<String> {
    let places = if entry.spec_list("addresses").is_empty() {
        "hosts"
    } else {
        "addresses"
    };
    let places: Vec<&str> = entry.spec_strings(places).collect();
    let ports = entry
        .spec_list("ports")
        .iter()
        .filter_map(|port| port.get("number"));
    ports
        .flat_map(|port| {
            places
                .iter()
                .map(move |place| format!("{} {place}", port.to_json()))
        })
        .collect()
}

/// The versions of a proxy and of an istiod that serves it, when they are a minor version or more
/// apart.
fn skew(facts: &Facts<'_>, pod: &Object) -> Option<(String, String)> {
    let stream = facts
        .fleet
        .streams_of(&pod.id.namespace, &pod.id.name)
        .next()?;
    let istiod = facts
        .mesh
        .istiods(None)
        .into_iter()
        .find(|istiod| istiod.id.name == stream.istiod)?;
    let images = istiod
        .spec_list("containers")
        .iter()
        .filter_map(|container| container.str_at("image"));
    let version = images
        .filter_map(|image| image.rsplit_once(':'))
        .map(|(_, tag)| tag)
        .find(|tag| minor(tag).is_some())?;
    let (ours, theirs) = (minor(&stream.version)?, minor(version)?);
    (ours != theirs).then(|| (stream.version.clone(), version.to_owned()))
}

/// `1.27` of `1.27.1-distroless`
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
