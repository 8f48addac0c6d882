//! What filters know of a request while it passes them: its headers as changed so far, and what
//! earlier filters wrote down beside it.

use std::borrow::Cow;
use std::net::IpAddr;

use super::Request;
use meshladder_text::json::Raw;
use meshladder_text::tree::{Node, Value};

/// A request on its way through the filters.
#[derive(Clone, Debug)]
pub struct RequestState<'r> {
    /// The request as the next filter sees it.
    pub request: Cow<'r, Request>,
    /// Whether it is HTTP to this proxy; if not, only its connection counts.
    pub is_http: bool,
    /// Who calls.
    pub caller: Peer,
    /// The other end of the socket (`direct_remote_ip`).
    pub direct_remote: RemoteAddress,
    /// The client as `x-forwarded-for` and its kin tell it (`remote_ip`).
    pub remote: RemoteAddress,
    /// The `Route` that was chosen; none when there is none, as for TCP.
    pub route: Option<Raw<'r>>,
    /// Dynamic metadata.
    pub metadata: Metadata,
    /// Filter state objects that filters set, as strings.
    pub filter_state: Vec<(String, String)>,
    /// Whether a filter asked for the route to be looked up again.
    pub clears_route: bool,
}

/// The identity that this proxy sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The connection is plain text to this proxy: also TLS that it passes through without
    /// terminating it.
    Plain,
    /// TLS ends here; the URI SANs of the client's certificate, none when it presents none.
    Tls(Vec<String>),
    /// Nobody said.
    Unknown,
}

/// An address, or the fact that is missing to tell it.
pub type RemoteAddress = Result<IpAddr, Box<str>>;

impl<'r> RequestState<'r> {
    /// Before the first HTTP filter of a chain that terminates TLS when the client speaks it.
    pub fn new(request: &'r Request) -> Self {
        let source = request
            .connection
            .source
            .map(|(ip, _)| ip)
            .ok_or_else(|| Box::from("the source address"));
        let peer = |tls: &super::request::Tls| Peer::Tls(tls.peer.clone().unwrap_or_default());
        Self {
            is_http: true,
            caller: request.connection.tls.as_ref().map_or(Peer::Plain, peer),
            direct_remote: source.clone(),
            remote: source,
            route: None,
            request: Cow::Borrowed(request),
            metadata: Metadata::default(),
            filter_state: Vec::new(),
            clears_route: false,
        }
    }

    /// Before the first network filter.
    pub fn tcp(request: &'r Request) -> Self {
        Self {
            is_http: false,
            ..Self::new(request)
        }
    }

    /// Takes every line of a header away.
    pub fn remove_header(&mut self, name: &str) {
        if self.request.values(name).next().is_some() {
            self.request
                .to_mut()
                .headers
                .retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        }
    }

    /// Adds a line to a header.
    pub fn add_header(&mut self, name: &str, value: String) {
        self.request
            .to_mut()
            .headers
            .push((name.to_ascii_lowercase(), value));
    }
}

/// Dynamic metadata: a namespace, usually the name of the filter that wrote it, and a key in it.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    entries: Vec<(Box<str>, Box<str>, MetadataEntry)>,
    /// A filter wrote something we do not know somewhere; which.
    anywhere: Option<Box<str>>,
}

/// A value in the metadata, as far as it is known.
#[derive(Clone, Debug)]
pub enum MetadataEntry {
    /// The value.
    Value(Node),
    /// The claims a user says a token has: dotted path and value.
    Claims(Vec<(String, String)>),
    /// Not known for want of this fact.
    Unknown(Box<str>),
}

/// What is at a path in the metadata.
#[derive(Debug, PartialEq)]
pub enum MetadataLookup<'m> {
    /// Nothing.
    Absent,
    /// A value.
    Value(&'m Value),
    /// A claim a user stated, with all its values.
    Claim(Vec<&'m str>),
    /// An object, of which only parts were stated.
    Object,
    /// It cannot be told without this fact.
    Unknown(&'m str),
}

impl Metadata {
    /// Writes a value; an older one is replaced.
    pub fn set(&mut self, namespace: &str, key: &str, value: MetadataEntry) {
        self.entries
            .retain(|(n, k, _)| &**n != namespace || &**k != key);
        self.entries.push((namespace.into(), key.into(), value));
    }

    /// Notes that a filter wrote something we do not know: from here on nothing is known to be
    /// absent.
    pub fn written_by(&mut self, filter: &str) {
        self.entries.clear();
        self.anywhere.get_or_insert_with(|| {
            format!("what the filter {filter} writes into the metadata").into()
        });
    }

    /// What is at a path below a namespace.
    pub fn find(&self, namespace: &str, path: &[Box<str>]) -> MetadataLookup<'_> {
        let known = path.split_first().and_then(|(key, rest)| {
            let entry = self
                .entries
                .iter()
                .find(|(n, k, _)| &**n == namespace && k == key)?;
            Some((&entry.2, rest))
        });
        match (known, &self.anywhere) {
            (Some((MetadataEntry::Value(node), rest)), _) => below(node, rest),
            (Some((MetadataEntry::Claims(claims), rest)), _) => stated(claims, rest),
            (Some((MetadataEntry::Unknown(fact), _)), _) | (None, Some(fact)) => {
                MetadataLookup::Unknown(fact)
            }
            (None, None) => MetadataLookup::Absent,
        }
    }
}

fn below<'m>(node: &'m Node, path: &[Box<str>]) -> MetadataLookup<'m> {
    path.iter()
        .try_fold(node, |node, key| node.get(key))
        .map_or(MetadataLookup::Absent, |node| {
            MetadataLookup::Value(&node.value)
        })
}

/// Stated claims are all there are, except for those that nearly every token has.
fn stated<'m>(claims: &'m [(String, String)], path: &[Box<str>]) -> MetadataLookup<'m> {
    let name = path.join(".");
    let values: Vec<_> = claims
        .iter()
        .filter(|(claim, _)| *claim == name)
        .map(|(_, value)| &**value)
        .collect();
    if !values.is_empty() {
        return MetadataLookup::Claim(values);
    }
    let is_object = |(claim, _): &(String, String)| {
        claim
            .strip_prefix(&name)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    match &*name {
        "" => MetadataLookup::Object,
        _ if claims.iter().any(is_object) => MetadataLookup::Object,
        "iss" => MetadataLookup::Unknown("the claim iss of the token"),
        "sub" => MetadataLookup::Unknown("the claim sub of the token"),
        "aud" => MetadataLookup::Unknown("the claim aud of the token"),
        _ => MetadataLookup::Absent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_text::json::Raw;

    fn path<const N: usize>(keys: [&str; N]) -> [Box<str>; N] {
        keys.map(Into::into)
    }

    #[test]
    fn metadata_is_found_by_namespace_key_and_path() {
        let mut metadata = Metadata::default();
        let node = Node::from_json(Raw::of(r#"{"a":{"b":"c"}}"#).expect("a value")).expect("JSON");
        metadata.set("ns", "payload", MetadataEntry::Value(node));
        let found = metadata.find("ns", &path(["payload", "a", "b"]));
        assert_eq!(found, MetadataLookup::Value(&Value::String("c".into())));
        assert_eq!(
            metadata.find("ns", &path(["payload", "x"])),
            MetadataLookup::Absent
        );
        assert_eq!(
            metadata.find("other", &path(["payload", "a"])),
            MetadataLookup::Absent
        );
    }

    #[test]
    fn stated_claims_may_have_dots_and_several_values() {
        let claims = [
            ("groups", "a"),
            ("groups", "b"),
            ("https://x.test/role", "admin"),
            ("realm.roles", "r"),
        ];
        let claims = claims.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec();
        let mut metadata = Metadata::default();
        metadata.set("ns", "payload", MetadataEntry::Claims(claims));
        assert_eq!(
            metadata.find("ns", &path(["payload", "groups"])),
            MetadataLookup::Claim(vec!["a", "b"])
        );
        assert_eq!(
            metadata.find("ns", &path(["payload", "https://x.test/role"])),
            MetadataLookup::Claim(vec!["admin"])
        );
        assert_eq!(
            metadata.find("ns", &path(["payload", "realm", "roles"])),
            MetadataLookup::Claim(vec!["r"])
        );
        assert_eq!(
            metadata.find("ns", &path(["payload", "realm"])),
            MetadataLookup::Object
        );
        assert_eq!(
            metadata.find("ns", &path(["payload", "other"])),
            MetadataLookup::Absent
        );
        assert!(matches!(
            metadata.find("ns", &path(["payload", "sub"])),
            MetadataLookup::Unknown(_)
        ));
    }

    #[test]
    fn behind_a_filter_that_writes_what_it_likes_nothing_is_absent() {
        let mut metadata = Metadata::default();
        metadata.written_by("lua");
        assert!(matches!(
            metadata.find("ns", &path(["payload"])),
            MetadataLookup::Unknown(_)
        ));
    }
}
