//! See the page beside this file.

use super::clients::Clients;
use super::nearest::nearest;
use super::{met, patch};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::destination_rule::HostRules;
use meshladder_mesh::host::covers;
use meshladder_mesh::scope::Scope;
use meshladder_mesh::traffic::{Destination, destinations};
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::tree::{Node, Value};

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0504",
    name: "route-to-undefined-subset",
    aka: &["IST0101", "KIA1107"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every subset that a VirtualService routes to is defined by a DestinationRule that the client uses",
    needs: Inputs::of(&[Kind::VirtualService, Kind::DestinationRule, Kind::Service]),
    uses: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::ServiceEntry, Kind::Sidecar]),
    explains: &["ML06", "ML07"],
    docs: include_str!("route_to_undefined_subset.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let clients = Clients::of(facts.mesh);
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        let to: Vec<_> = destinations(service, &facts.mesh.domain)
            .into_iter()
            .filter(|to| to.subset.is_some())
            .collect();
        if to.is_empty() {
            continue;
        }
        let scopes = match case {
            Some(case) => met::scope(facts, case).into_iter().collect(),
            None => clients.of_virtual_service(service),
        };
        for to in to {
            if case.is_none_or(|case| meets(facts, case, service, &to)) {
                out.examined();
                judge(facts.mesh, service, &to, &scopes, out);
            }
        }
    }
}

/// Whether the request may be sent to that subset by this VirtualService.
fn meets(facts: &Facts<'_>, case: &Case<'_>, service: &Object, to: &Destination<'_>) -> bool {
    let is_seen = met::scope(facts, case)
        .is_none_or(|scope| facts.mesh.is_exported_to(service, scope.namespace));
    let is_delegate = service.spec_list("hosts").is_empty();
    is_seen
        && (is_delegate || met::is_for_host(facts, service, &met::authority(case)))
        && met::clusters(case)
            .any(|cluster| Some(cluster.subset) == to.subset && cluster.host == to.host)
}

fn judge(
    mesh: &Mesh,
    service: &Object,
    to: &Destination<'_>,
    scopes: &[Scope<'_>],
    out: &mut Sink,
) {
    // A VirtualService that nobody uses is looked at as if its own namespace did.
    let own = [mesh.namespace_scope(&service.id.namespace)];
    let is_used = !scopes.is_empty();
    let scopes = if is_used { scopes } else { &own };
    let name = to.subset.unwrap_or_default();
    let is_defined = |scope: &&Scope<'_>| {
        mesh.destination_rule(**scope, &to.host)
            .is_some_and(|rule| rule.subset(name).is_some())
    };
    let (with, without): (Vec<&Scope<'_>>, Vec<&Scope<'_>>) = scopes.iter().partition(is_defined);
    let Some(first) = without.first() else { return };
    let rule = mesh.destination_rule(**first, &to.host);
    let who = if with.is_empty() {
        String::new()
    } else {
        format!(" for clients in {}", namespaces(&without))
    };
    let known = rule.as_ref().map(defined).unwrap_or_default();
    let hidden = hidden(mesh, to, **first).filter(|_| rule.is_none());
    let instead = match (&rule, known.as_slice()) {
        (None, _) => match hidden {
            Some(hidden) => format!("{} is not exported to {}", hidden.id, first.namespace),
            None => "no DestinationRule applies".to_owned(),
        },
        (Some(rule), []) => format!("{} defines none", rule.rules[0].id),
        (Some(rule), known) => format!("{} defines {}", rule.rules[0].id, known.join(", ")),
    };
    let message = format!(
        "{} routes to subset {name} of {}, which no DestinationRule defines{who}: {instead}",
        service.id, to.host
    );
    let at = to.node.get("subset").unwrap_or(to.node);
    let culprit = culprit(mesh, service, to, **first, rule.as_ref());
    let finding = out.find(
        culprit.clone(),
        message,
        Evidence::of(service, at, "the subset it routes to"),
    );
    finding.hits(service.id.clone());
    if !is_used {
        finding.severity(Severity::Info);
    } else if !with.is_empty() {
        finding.severity(Severity::Warning);
    }
    if let Some((service, namespace)) = mesh.domain.service_name(&to.host) {
        finding.hits(ObjectRef::of(Kind::Service, namespace, service));
    }
    if let Some(rule) = rule {
        let stored = rule.rules[0];
        let subsets = stored.spec_at(["subsets"]).unwrap_or(&stored.node);
        finding.see(Evidence::of(
            stored,
            subsets,
            "the subsets that are defined",
        ));
        offer(finding, service, to, &rule, &known);
    }
    if let Some(hidden) = hidden {
        let export = hidden.spec_at(["exportTo"]).unwrap_or(&hidden.node);
        finding.see(Evidence::of(
            hidden,
            export,
            "where the DestinationRule that defines it is seen",
        ));
        finding.fix(Fix::merge(
            &hidden.id,
            Value::nested(["spec", "exportTo"], Value::Null),
        ));
    }
    finding.fix(Fix::advice(format!(
        "define subset {name} for {}, or route to one that is defined",
        to.host
    )));
}

/// A DestinationRule that defines the subset and is not exported to the client.
fn hidden<'m>(mesh: &'m Mesh, to: &Destination<'_>, client: Scope<'_>) -> Option<&'m Object> {
    let is_hidden =
        |rule: &&Object| defines(mesh, rule, to) && !mesh.is_exported_to(rule, client.namespace);
    mesh.objects
        .of_kind(Kind::DestinationRule)
        .iter()
        .find(is_hidden)
}

fn defines(mesh: &Mesh, rule: &Object, to: &Destination<'_>) -> bool {
    let host = rule
        .spec_at(["host"])
        .and_then(Node::str)
        .unwrap_or_default();
    covers(&mesh.domain.fqdn(host, &rule.id.namespace), &to.host)
        && rule
            .spec_list("subsets")
            .iter()
            .any(|subset| subset.str_at("name") == to.subset)
}

/// The object to change: a DestinationRule that defines the subset and is kept from the client, one
/// of the client's own namespace that stands before it, or else the VirtualService.
fn culprit<'m>(
    mesh: &'m Mesh,
    service: &'m Object,
    to: &Destination<'_>,
    client: Scope<'_>,
    used: Option<&HostRules<'m>>,
) -> &'m ObjectRef {
    let all = mesh.objects.of_kind(Kind::DestinationRule).iter();
    let Some(hidden) = all.into_iter().find(|rule| defines(mesh, rule, to)) else {
        return &service.id;
    };
    match used.map(|used| used.rules[0]) {
        None if !mesh.is_exported_to(hidden, client.namespace) => &hidden.id,
        Some(own)
            if own.id.namespace == client.namespace && hidden.id.namespace != client.namespace =>
        {
            &own.id
        }
        _ => &service.id,
    }
}

fn offer(
    finding: &mut crate::finding::Finding,
    service: &Object,
    to: &Destination<'_>,
    rule: &HostRules<'_>,
    known: &[&str],
) {
    let name = to.subset.unwrap_or_default();
    if let Some(near) = nearest(name, known.iter().copied()) {
        finding.fix(patch::set(service, to.node, "subset", near));
    }
    // The last subset is most often the newest version, which is what a new name is given to.
    let Some((stored, newest)) = rule.subsets().into_iter().next_back() else {
        return;
    };
    let labels = newest
        .get("labels")
        .map_or_else(|| Value::Object(Box::default()), Value::from);
    let value = Value::object([("name", Value::from(name)), ("labels", labels)]);
    let subsets = stored.spec_at(["subsets"]).unwrap_or(&stored.node);
    finding.fix(patch::set(stored, subsets, "-", value));
}

fn defined<'m>(rule: &HostRules<'m>) -> Vec<&'m str> {
    rule.subsets()
        .into_iter()
        .filter_map(|(_, subset)| subset.str_at("name"))
        .collect()
}

fn namespaces(scopes: &[&Scope<'_>]) -> String {
    let mut names: Vec<&str> = scopes.iter().map(|scope| scope.namespace).collect();
    names.dedup();
    match names.as_slice() {
        [first, second, third, _, ..] => {
            format!("{first}, {second}, {third} and {} more", names.len() - 3)
        }
        few => few.join(", "),
    }
}
