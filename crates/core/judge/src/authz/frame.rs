//! Rules as users know them: the object, and its lines in their own file.

use super::objects::AuthzObjects;
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Snapshot};
use meshladder_mesh::Object;
use meshladder_sim::rbac::PolicyName;
use meshladder_text::json::pointer_to;
use meshladder_text::place::Place;
use meshladder_text::tree::Node;

/// A rule of a policy, or a whole object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidingRule {
    /// `AuthorizationPolicy`, `PeerAuthentication` or `RequestAuthentication`.
    pub kind: &'static str,
    /// The object's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Which of its rules, counted from 0.
    pub rule: Option<usize>,
    /// `ALLOW`, `DENY`, `AUDIT` or `CUSTOM`, when the object is at hand.
    pub action: Option<String>,
    /// Where it stands, when the object is at hand.
    pub frame: Option<PolicyExcerpt>,
}

/// Some lines of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyExcerpt {
    /// The document.
    pub doc: DocId,
    /// The file, as the user knows it.
    pub origin: String,
    /// The first line's number, from 1.
    pub line: usize,
    /// RFC 6901, for JSON.
    pub pointer: Option<String>,
    /// The lines, without the indentation that all of them have.
    pub lines: Vec<String>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// So many lines of a rule are shown.
const SHOWN: usize = 24;
/// So many characters of a line.
const WIDTH: usize = 120;

impl DecidingRule {
    /// The rule behind a policy's name in a proxy; none when istiod did not make the name.
    pub(super) fn named(
        policy: &str,
        objects: AuthzObjects<'_>,
        snapshot: &Snapshot,
    ) -> Option<Self> {
        let name = PolicyName::parse(policy)?;
        let kept = objects.find_policy(Kind::AuthorizationPolicy, name.namespace, name.name);
        let node = kept.and_then(|kept| kept.node.at(["spec", "rules"])?.items().get(name.rule));
        let action = kept.map(|kept| {
            kept.node
                .at(["spec", "action"])
                .and_then(Node::str)
                .unwrap_or("ALLOW")
                .to_owned()
        });
        Some(Self {
            kind: "AuthorizationPolicy",
            namespace: name.namespace.to_owned(),
            name: name.name.to_owned(),
            rule: Some(name.rule),
            action,
            frame: kept
                .and_then(|kept| PolicyExcerpt::of(kept, node.unwrap_or(&kept.node), snapshot)),
        })
    }

    /// A whole object.
    pub(super) fn object(kind: &'static str, kept: &Object, snapshot: &Snapshot) -> Self {
        Self {
            kind,
            namespace: kept.id.namespace.to_string(),
            name: kept.id.name.to_string(),
            rule: None,
            action: None,
            frame: PolicyExcerpt::of(kept, kept.node.get("spec").unwrap_or(&kept.node), snapshot),
        }
    }
}

impl std::fmt::Display for DecidingRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)?;
        self.rule.map_or(Ok(()), |rule| write!(f, " rule[{rule}]"))
    }
}

impl PolicyExcerpt {
    fn of(kept: &Object, node: &Node, snapshot: &Snapshot) -> Option<Self> {
        let document = snapshot.open(&kept.doc).ok()?;
        let text = &*document.text;
        // A document that is one long line is shown from the value on.
        let from = text[..node.span.start()]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let from = if node.span.start() - from > WIDTH / 2 {
            node.span.start()
        } else {
            from
        };
        let lines: Vec<_> = text[from..node.span.end()].trim_end().lines().collect();
        let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
        let indent = lines
            .iter()
            .filter(|line| !line.trim().is_empty())
            .map(indent)
            .min()
            .unwrap_or_default();
        let shown = |line: &&str| {
            line.get(indent..)
                .unwrap_or_default()
                .chars()
                .take(WIDTH)
                .collect()
        };
        let is_json = text.trim_start().starts_with(['{', '[']);
        Some(Self {
            doc: kept.doc.clone(),
            origin: document.origin.clone(),
            line: Place::of(text, node.span.start()).line,
            pointer: is_json
                .then(|| pointer_to(text, node.span.start()))
                .flatten(),
            lines: lines.iter().take(SHOWN).map(shown).collect(),
            is_cut: lines.len() > SHOWN,
        })
    }
}
