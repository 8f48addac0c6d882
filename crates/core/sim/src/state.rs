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
        let source = match request.connection.source {
            Some((ip, _)) => Ok(ip),
            None => Err(Box::from("the source address")),
        };
        let caller = match &request.connection.tls {
            Some(tls) => Peer::Tls(tls.peer.clone().unwrap_or_default()),
            None => Peer::Plain,
        };
        Self {
            is_http: true,
            caller,
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
        // A request that does not have it is not copied.
        if self.request.values(name).next().is_none() {
            return;
        }
        let headers = &mut self.request.to_mut().headers;
        headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    }

    /// Adds a line to a header.
    pub fn add_header(&mut self, name: &str, value: String) {
        let headers = &mut self.request.to_mut().headers;
        headers.push((name.to_ascii_lowercase(), value));
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
        // It may have replaced what others wrote.
        self.entries.clear();
        self.anywhere.get_or_insert_with(|| {
            format!("what the filter {filter} writes into the metadata").into()
        });
    }

    /// What is at a path below a namespace.
    pub fn find(&self, namespace: &str, path: &[Box<str>]) -> MetadataLookup<'_> {
        let Some((key, rest)) = path.split_first() else {
            return self.not_written();
        };
        for (in_namespace, at_key, entry) in &self.entries {
            if **in_namespace != *namespace || at_key != key {
                continue;
            }
            return match entry {
                MetadataEntry::Value(node) => below(node, rest),
                MetadataEntry::Claims(claims) => stated(claims, rest),
                MetadataEntry::Unknown(fact) => MetadataLookup::Unknown(fact),
            };
        }
        self.not_written()
    }

    /// What is where nobody is known to have written.
    fn not_written(&self) -> MetadataLookup<'_> {
        match &self.anywhere {
            Some(fact) => MetadataLookup::Unknown(fact),
            None => MetadataLookup::Absent,
        }
    }
}

fn below<'m>(mut node: &'m Node, path: &[Box<str>]) -> MetadataLookup<'m> {
    for key in path {
        let Some(inner) = node.get(key) else {
            return MetadataLookup::Absent;
        };
        node = inner;
    }
    MetadataLookup::Value(&node.value)
}

/// Stated claims are all there are, except for those that nearly every token has.
fn stated<'m>(claims: &'m [(String, String)], path: &[Box<str>]) -> MetadataLookup<'m> {
    let name = path.join(".");
    if name.is_empty() {
        return MetadataLookup::Object;
    }

    let mut values = Vec::new();
    let mut has_parts = false;
    for (claim, value) in claims {
        match claim.strip_prefix(&*name) {
            Some("") => values.push(&**value),
            Some(rest) => has_parts |= rest.starts_with('.'),
            None => {}
        }
    }
    if !values.is_empty() {
        return MetadataLookup::Claim(values);
    }
    // `a` of `a.b` is an object, of which only `b` was stated.
    if has_parts {
        return MetadataLookup::Object;
    }

    match &*name {
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
