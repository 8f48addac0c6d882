//! Authorization as ztunnel has it: what istiod makes of AuthorizationPolicies and
//! PeerAuthentications, and how ztunnel decides by it.

use std::net::IpAddr;

use meshladder_text::cidr::Cidr;
use meshladder_text::json::Raw;

/// A policy of layer 4.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct L4Policy {
    /// Namespace.
    pub namespace: String,
    /// Name; istiod's own have a `_` in it.
    pub name: String,
    /// Whom it is for.
    pub scope: L4Scope,
    /// What it does.
    pub action: L4Action,
    /// Alternatives.
    pub rules: Vec<L4Rule>,
    /// Whether it only logs.
    pub dry_run: bool,
}

/// A rule: each clause must hold.
pub type L4Rule = Vec<L4Clause>;
/// A clause: one of its matches must hold.
pub type L4Clause = Vec<L4Match>;

/// Whom a policy is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum L4Scope {
    /// Every workload of the mesh.
    Global,
    /// Every workload of its namespace.
    #[default]
    Namespace,
    /// The workloads that list it.
    WorkloadSelector,
}

/// What a policy does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum L4Action {
    /// Lets in what matches, and nothing else.
    #[default]
    Allow,
    /// Keeps out what matches.
    Deny,
}

/// What a connection must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct L4Match {
    /// Namespaces of the peer's identity.
    pub namespaces: Either<TextMatch>,
    /// Service accounts, as namespace and name.
    pub service_accounts: Either<(String, String)>,
    /// Identities, without `spiffe://`.
    pub principals: Either<TextMatch>,
    /// Addresses that it comes from.
    pub source_ips: Either<Cidr>,
    /// Addresses of the workload.
    pub destination_ips: Either<Cidr>,
    /// Ports of the workload.
    pub destination_ports: Either<u16>,
}

/// Values of which one must hold, and values of which none may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Either<T> {
    /// One of these; any when there are none.
    pub any: Vec<T>,
    /// None of these.
    pub none: Vec<T>,
}

/// What a text must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextMatch {
    /// This.
    Exact(String),
    /// Something that begins so.
    Prefix(String),
    /// Something that ends so.
    Suffix(String),
    /// Anything.
    Presence,
}

/// A connection as the ztunnel of its destination sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L4Connection {
    /// The other end of the socket; none when nobody said.
    pub source: Option<IpAddr>,
    /// The peer's identity without `spiffe://`; none for plain text.
    pub identity: Option<String>,
    /// The workload's own address and port.
    pub destination: (IpAddr, u16),
}

/// What becomes of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum L4Decision<'p> {
    /// It goes on; by this policy, where there are ALLOW policies.
    Allowed(Option<&'p L4Policy>),
    /// A DENY policy matches.
    Denied(&'p L4Policy),
    /// There are ALLOW policies, and none of them matches.
    NotAllowed,
}

impl<T> Default for Either<T> {
    fn default() -> Self {
        Self {
            any: Vec::new(),
            none: Vec::new(),
        }
    }
}

impl<T> Either<T> {
    /// Whether it demands nothing.
    pub fn is_empty(&self) -> bool {
        self.any.is_empty() && self.none.is_empty()
    }

    fn holds(&self, is: impl Fn(&T) -> bool) -> bool {
        (self.any.is_empty() || self.any.iter().any(&is)) && !self.none.iter().any(&is)
    }
}

/// Decides in ztunnel's order: any enforced DENY that matches; without an ALLOW everything; any
/// ALLOW that matches. A policy that only logs does not count.
pub fn decide<'p>(
    policies: impl IntoIterator<Item = &'p L4Policy>,
    connection: &L4Connection,
) -> L4Decision<'p> {
    let mut allows = Vec::new();
    let mut denied = None;
    for policy in policies {
        if policy.dry_run {
            continue;
        }
        match policy.action {
            L4Action::Deny if denied.is_none() && policy.matches(connection) => {
                denied = Some(policy);
            }
            L4Action::Deny => {}
            L4Action::Allow => allows.push(policy),
        }
    }
    if let Some(policy) = denied {
        return L4Decision::Denied(policy);
    }
    if allows.is_empty() {
        return L4Decision::Allowed(None);
    }
    match allows.into_iter().find(|policy| policy.matches(connection)) {
        Some(policy) => L4Decision::Allowed(Some(policy)),
        None => L4Decision::NotAllowed,
    }
}

impl L4Policy {
    /// `namespace/name`
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether one of its rules holds; one without rules matches nothing.
    pub fn matches(&self, connection: &L4Connection) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.iter().all(|clause| holds(clause, connection)))
    }

    /// Whether it is istiod's own, made of a PeerAuthentication.
    pub fn is_of_peer_authentication(&self) -> bool {
        self.name == STATIC_STRICT || self.name.starts_with(CONVERTED)
    }

    /// Reads a policy of a dump.
    pub fn read(raw: Raw<'_>) -> Self {
        let text = |key| raw.string_at(key).unwrap_or_default().into_owned();
        let rules = raw.list("rules").map(|rule| {
            rule.elements()
                .map(|clause| clause.elements().map(L4Match::read).collect())
                .collect()
        });
        Self {
            namespace: text("namespace"),
            name: text("name"),
            scope: match &*text("scope") {
                "Global" => L4Scope::Global,
                "WorkloadSelector" => L4Scope::WorkloadSelector,
                _ => L4Scope::Namespace,
            },
            action: if text("action") == "Deny" {
                L4Action::Deny
            } else {
                L4Action::Allow
            },
            rules: rules.collect(),
            dry_run: raw.get("dryRun").and_then(Raw::bool) == Some(true),
        }
    }
}

/// What istiod makes of STRICT: every workload that it holds for lists it.
pub const STATIC_STRICT: &str = "istio_converted_static_strict";
/// How istiod names what it makes of a PeerAuthentication with modes of single ports.
pub const CONVERTED: &str = "converted_peer_authentication_";

/// A clause without matches holds; else one of its matches that demand anything must: an empty one
/// is skipped, so that a clause of only such never holds.
fn holds(clause: &L4Clause, connection: &L4Connection) -> bool {
    clause.is_empty()
        || clause
            .iter()
            .any(|one| !one.is_empty() && one.matches(connection))
}

impl L4Match {
    /// Whether it demands nothing.
    pub fn is_empty(&self) -> bool {
        self.namespaces.is_empty()
            && self.service_accounts.is_empty()
            && self.principals.is_empty()
            && self.source_ips.is_empty()
            && self.destination_ips.is_empty()
            && self.destination_ports.is_empty()
    }

    /// Whether all that it demands holds.
    pub fn matches(&self, connection: &L4Connection) -> bool {
        let identity = connection.identity.as_deref();
        let (namespace, account) = identity.map_or(("", ""), parts);
        let (address, port) = connection.destination;
        self.destination_ips.holds(|range| range.contains(address))
            && self
                .source_ips
                .holds(|range| connection.source.is_some_and(|ip| range.contains(ip)))
            && self.destination_ports.holds(|own| *own == port)
            && self
                .service_accounts
                .holds(|(ns, name)| identity.is_some() && ns == namespace && name == account)
            && self
                .principals
                .holds(|text| identity.is_some_and(|identity| text.matches(identity)))
            && self.namespaces.holds(|text| text.matches(namespace))
    }

    fn read(raw: Raw<'_>) -> Self {
        let mut read = Self::default();
        for (key, value) in raw.members() {
            let texts = || value.elements().filter_map(TextMatch::read).collect();
            let ranges = || value.elements().filter_map(range).collect();
            let ports = || value.elements().filter_map(port).collect();
            let accounts = || value.elements().filter_map(account).collect();
            match &*key {
                "namespaces" => read.namespaces.any = texts(),
                "notNamespaces" => read.namespaces.none = texts(),
                "principals" => read.principals.any = texts(),
                "notPrincipals" => read.principals.none = texts(),
                "serviceAccounts" => read.service_accounts.any = accounts(),
                "notServiceAccounts" => read.service_accounts.none = accounts(),
                "sourceIps" => read.source_ips.any = ranges(),
                "notSourceIps" => read.source_ips.none = ranges(),
                "destinationIps" => read.destination_ips.any = ranges(),
                "notDestinationIps" => read.destination_ips.none = ranges(),
                "destinationPorts" => read.destination_ports.any = ports(),
                "notDestinationPorts" => read.destination_ports.none = ports(),
                _ => {}
            }
        }
        read
    }
}

impl TextMatch {
    /// As policies write it: `*`, `*x`, `x*` or the very text.
    pub fn of(value: &str) -> Self {
        if value == "*" {
            Self::Presence
        } else if let Some(end) = value.strip_prefix('*') {
            Self::Suffix(end.to_owned())
        } else if let Some(start) = value.strip_suffix('*') {
            Self::Prefix(start.to_owned())
        } else {
            Self::Exact(value.to_owned())
        }
    }

    /// Whether a text is it.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(own) => own == text,
            Self::Prefix(start) => text.starts_with(start.as_str()),
            Self::Suffix(end) => text.ends_with(end.as_str()),
            Self::Presence => !text.is_empty(),
        }
    }

    fn read(raw: Raw<'_>) -> Option<Self> {
        let (kind, value) = raw.members().next()?;
        let text = || value.string().unwrap_or_default().into_owned();
        match &*kind {
            "Exact" => Some(Self::Exact(text())),
            "Prefix" => Some(Self::Prefix(text())),
            "Suffix" => Some(Self::Suffix(text())),
            "Presence" => Some(Self::Presence),
            _ => None,
        }
    }
}

/// Namespace and service account of `cluster.local/ns/shop/sa/cart`.
pub fn parts(identity: &str) -> (&str, &str) {
    let mut parts = identity.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("ns"), Some(namespace), Some("sa"), Some(account)) => (namespace, account),
        _ => ("", ""),
    }
}

/// `10.0.0.0/8`, or an address for itself; none for what is neither.
pub fn parse_range(text: &str) -> Option<Cidr> {
    match text.split_once('/') {
        Some((address, length)) => Some(Cidr::new(address.parse().ok()?, length.parse().ok()?)),
        None => Some(Cidr::new(text.parse().ok()?, u8::MAX)),
    }
}

fn range(raw: Raw<'_>) -> Option<Cidr> {
    parse_range(&raw.string()?)
}

fn port(raw: Raw<'_>) -> Option<u16> {
    raw.number()?.try_into().ok()
}

fn account(raw: Raw<'_>) -> Option<(String, String)> {
    Some((
        raw.string_at("namespace")?.into_owned(),
        raw.string_at("serviceAccount")?.into_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(identity: Option<&str>) -> L4Connection {
        L4Connection {
            source: Some([10, 0, 0, 1].into()),
            identity: identity.map(str::to_owned),
            destination: ([10, 0, 0, 2].into(), 8080),
        }
    }

    fn policy(json: &str) -> L4Policy {
        L4Policy::read(Raw::of(json).expect("a value"))
    }

    const CART: &str = "cluster.local/ns/shop/sa/cart";

    #[test]
    fn a_match_is_the_and_of_its_fields_and_negatives_hold_without_an_identity() {
        for (json, with, without) in [
            (
                r#"{"principals":[{"Exact":"cluster.local/ns/shop/sa/cart"}]}"#,
                true,
                false,
            ),
            (r#"{"notPrincipals":[{"Presence":[]}]}"#, false, true),
            (r#"{"namespaces":[{"Exact":"shop"}]}"#, true, false),
            (r#"{"notNamespaces":[{"Exact":"shop"}]}"#, false, true),
            (r#"{"namespaces":[{"Presence":[]}]}"#, true, false),
            (
                r#"{"serviceAccounts":[{"namespace":"shop","serviceAccount":"cart"}]}"#,
                true,
                false,
            ),
            (
                r#"{"sourceIps":["10.0.0.0/8"],"destinationPorts":[8080]}"#,
                true,
                true,
            ),
            (
                r#"{"sourceIps":["10.0.0.0/8"],"destinationPorts":[80]}"#,
                false,
                false,
            ),
            (r#"{"notDestinationPorts":[8080]}"#, false, false),
            (
                r#"{"principals":[{"Prefix":"cluster.local/ns/"}]}"#,
                true,
                false,
            ),
            (r#"{"principals":[{"Suffix":"/sa/cart"}]}"#, true, false),
        ] {
            let one = L4Match::read(Raw::of(json).expect("a value"));
            assert_eq!(one.matches(&connection(Some(CART))), with, "{json}");
            assert_eq!(one.matches(&connection(None)), without, "{json}");
        }
    }

    #[test]
    fn rules_are_alternatives_clauses_must_all_hold_and_empty_matches_never_do() {
        for (rules, matches) in [
            ("[]", false),
            ("[[]]", true),
            ("[[[]]]", true),
            ("[[[{}]]]", false),
            (r#"[[[{}],[{"destinationPorts":[8080]}]]]"#, false),
            (r#"[[[{},{"destinationPorts":[8080]}]]]"#, true),
            (
                r#"[[[{"destinationPorts":[1]}]],[[{"destinationPorts":[8080]}]]]"#,
                true,
            ),
        ] {
            let policy = policy(&format!(r#"{{"name":"p","rules":{rules}}}"#));
            assert_eq!(policy.matches(&connection(None)), matches, "{rules}");
        }
    }

    #[test]
    fn deny_comes_first_and_without_allow_everything_passes() {
        let allow = policy(
            r#"{"name":"a","action":"Allow","rules":[[[{"namespaces":[{"Exact":"shop"}]}]]]}"#,
        );
        let deny =
            policy(r#"{"name":"d","action":"Deny","rules":[[[{"destinationPorts":[8080]}]]]}"#);
        let other =
            policy(r#"{"name":"o","action":"Deny","rules":[[[{"destinationPorts":[1]}]]]}"#);
        let dry = policy(r#"{"name":"dry","action":"Deny","rules":[[]],"dryRun":true}"#);
        let cart = connection(Some(CART));
        assert_eq!(decide([], &cart), L4Decision::Allowed(None));
        assert_eq!(decide([&other, &dry], &cart), L4Decision::Allowed(None));
        assert_eq!(decide([&allow, &deny], &cart), L4Decision::Denied(&deny));
        assert_eq!(
            decide([&allow, &other], &cart),
            L4Decision::Allowed(Some(&allow))
        );
        assert_eq!(decide([&allow], &connection(None)), L4Decision::NotAllowed);
    }
}
