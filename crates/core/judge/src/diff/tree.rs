//! Two values compared: what is only on one side, what differs, and what differs only in words that
//! stand for the same.

use std::collections::HashMap;

use super::names::CommonNames;
use super::{ChangeKind, DiffEdit, Noise};
use meshladder_text::tree::{Node, Value};

/// Compares the values of two sides.
pub(super) struct Compare<'n> {
    pub(super) a: &'n CommonNames,
    pub(super) b: &'n CommonNames,
    pub(super) noise: &'n mut Noise,
}

/// Members that differ between any two proxies or captures and mean nothing.
const NOISE: [(&str, &str); 7] = [
    ("version_info", "versions"),
    ("last_updated", "times"),
    ("stat_prefix", "stat prefixes"),
    ("alt_stat_name", "stat prefixes"),
    ("inline_bytes", "certificates"),
    ("caBundle", "certificates"),
    ("uid", "names given by the cluster"),
];

impl Compare<'_> {
    /// The differences below `path`.
    pub(super) fn nodes(&mut self, path: &str, a: &Node, b: &Node, out: &mut Vec<DiffEdit>) {
        match (&a.value, &b.value) {
            (Value::Object(_), Value::Object(_)) => self.objects(path, a, b, out),
            (Value::Array(left), Value::Array(right)) => self.lists(path, left, right, out),
            (Value::String(left), Value::String(right)) if left != right => {
                // Istio's tags in traces name the proxy's own workload.
                if path.contains("/custom_tags[istio.") {
                    self.noise.add("who the proxy is", path, left, right);
                } else if self.a.neutral(left) == self.b.neutral(right) {
                    self.noise.add("addresses and names", path, left, right);
                } else {
                    out.push(DiffEdit::new(ChangeKind::Changed, path, Some(a), Some(b)));
                }
            }
            (left, right) if left == right => {}
            _ => out.push(DiffEdit::new(ChangeKind::Changed, path, Some(a), Some(b))),
        }
    }

    fn objects(&mut self, path: &str, a: &Node, b: &Node, out: &mut Vec<DiffEdit>) {
        for member in a.members() {
            let path = format!("{path}/{}", member.key);
            let other = b.get(&member.key);
            let is_same = other.is_some_and(|other| other.value == member.value.value);
            match (noise(&member.key), other) {
                _ if is_same => {}
                (Some(why), _) => {
                    let right = other.map(Node::to_json).unwrap_or_default();
                    self.noise.add(why, &path, &member.value.to_json(), &right);
                }
                (None, Some(other)) => self.nodes(&path, &member.value, other, out),
                (None, None) => out.push(DiffEdit::new(
                    ChangeKind::Removed,
                    &path,
                    Some(&member.value),
                    None,
                )),
            }
        }
        for member in b
            .members()
            .iter()
            .filter(|member| a.get(&member.key).is_none())
        {
            let path = format!("{path}/{}", member.key);
            match noise(&member.key) {
                Some(why) => self.noise.add(why, &path, "", &member.value.to_json()),
                None => out.push(DiffEdit::new(
                    ChangeKind::Added,
                    &path,
                    None,
                    Some(&member.value),
                )),
            }
        }
    }

    fn lists(&mut self, path: &str, a: &[Node], b: &[Node], out: &mut Vec<DiffEdit>) {
        let list = path.rsplit('/').next().unwrap_or_default();
        let pairs = pair(&keys(list, a, self.a), &keys(list, b, self.b));
        for (key, left, right) in &pairs.both {
            self.nodes(&format!("{path}[{key}]"), &a[*left], &b[*right], out);
        }
        if is_ordered(list) && pairs.is_moved() {
            let name = |order: &mut dyn Iterator<Item = &String>| {
                order.cloned().collect::<Vec<_>>().join(", ")
            };
            let was = name(&mut pairs.both.iter().map(|(key, ..)| key));
            let mut sorted: Vec<_> = pairs.both.iter().collect();
            sorted.sort_by_key(|(_, _, right)| *right);
            let is = name(&mut sorted.iter().map(|(key, ..)| key));
            out.push(DiffEdit {
                what: ChangeKind::Moved,
                path: path.to_owned(),
                old: Some(was),
                new: Some(is),
                at: (None, None),
            });
        }
        // What has no partner by its key but stands alone on each side is one thing that changed.
        let changed = pairs.only_a.len().min(pairs.only_b.len());
        for ((old, left), (new, right)) in pairs.only_a.iter().zip(&pairs.only_b) {
            self.nodes(
                &format!("{path}[{}]", old.min(new)),
                &a[*left],
                &b[*right],
                out,
            );
        }
        for (key, left) in pairs.only_a.iter().skip(changed) {
            out.push(DiffEdit::new(
                ChangeKind::Removed,
                &format!("{path}[{key}]"),
                Some(&a[*left]),
                None,
            ));
        }
        for (key, right) in pairs.only_b.iter().skip(changed) {
            out.push(DiffEdit::new(
                ChangeKind::Added,
                &format!("{path}[{key}]"),
                None,
                Some(&b[*right]),
            ));
        }
    }
}

fn noise(key: &str) -> Option<&'static str> {
    NOISE
        .iter()
        .find(|(noise, _)| *noise == key)
        .map(|(_, why)| *why)
}

/// Lists in which the order decides.
fn is_ordered(list: &str) -> bool {
    matches!(
        list,
        "routes" | "filters" | "http_filters" | "listener_filters" | "http" | "tcp" | "tls"
    )
}

/// Which elements of two lists belong together.
#[derive(Debug, Default)]
pub(super) struct ListPairs {
    /// Key and place on each side, in the order of the first.
    pub(super) both: Vec<(String, usize, usize)>,
    pub(super) only_a: Vec<(String, usize)>,
    pub(super) only_b: Vec<(String, usize)>,
}

impl ListPairs {
    /// Whether what both sides have stands in another order.
    pub(super) fn is_moved(&self) -> bool {
        self.both.windows(2).any(|two| two[0].2 > two[1].2)
    }
}

/// Pairs elements by their keys; of equal keys the first goes with the first.
pub(super) fn pair(a: &[String], b: &[String]) -> ListPairs {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, key) in b.iter().enumerate().rev() {
        places.entry(key).or_default().push(place);
    }
    let mut pairs = ListPairs::default();
    let mut is_paired = vec![false; b.len()];
    for (left, key) in a.iter().enumerate() {
        match places.get_mut(key.as_str()).and_then(Vec::pop) {
            Some(right) => {
                is_paired[right] = true;
                pairs.both.push((key.clone(), left, right));
            }
            None => pairs.only_a.push((key.clone(), left)),
        }
    }
    let alone = b.iter().enumerate().filter(|(place, _)| !is_paired[*place]);
    pairs.only_b = alone.map(|(place, key)| (key.clone(), place)).collect();
    pairs
}

/// The identity of each element of a list.
pub(super) fn keys(list: &str, nodes: &[Node], names: &CommonNames) -> Vec<String> {
    nodes.iter().map(|node| key(list, node, names)).collect()
}

fn key(list: &str, node: &Node, names: &CommonNames) -> String {
    let part = |path: &[&str]| {
        let part = path.iter().try_fold(node, |node, key| node.get(key));
        part.map_or_else(|| "any".to_owned(), |part| short(part, names))
    };
    let by_member = || {
        ["port", "number", "containerPort", "name"]
            .iter()
            .find_map(|key| Some(short(node.get(key)?, names)))
    };
    match (list, &node.value) {
        ("filter_chains", Value::Object(_)) => part(&["filter_chain_match"]),
        ("custom_tags", Value::Object(_)) => part(&["tag"]),
        ("routes" | "http" | "tcp", Value::Object(_)) => part(&["match"]),
        ("lb_endpoints", Value::Object(_)) => part(&["endpoint", "address"]),
        ("endpoints", Value::Object(_)) if node.get("lb_endpoints").is_some() => {
            part(&["locality"])
        }
        (_, Value::Object(_)) => by_member().unwrap_or_else(|| short(node, names)),
        _ => short(node, names),
    }
}

/// A value in one line without the punctuation of JSON where it can do without.
pub(super) fn short(node: &Node, names: &CommonNames) -> String {
    match &node.value {
        Value::String(text) => names.neutral(text).into_owned(),
        Value::Object(members) if members.len() == 1 => {
            format!("{} {}", members[0].key, short(&members[0].value, names))
        }
        Value::Object(members) => {
            let mut parts: Vec<String> = members
                .iter()
                .filter(|member| noise(&member.key).is_none())
                .map(|member| format!("{} {}", member.key, short(&member.value, names)))
                .collect();
            parts.sort();
            parts.join(", ")
        }
        Value::Array(items) => items
            .iter()
            .map(|item| short(item, names))
            .collect::<Vec<_>>()
            .join(" + "),
        _ => node.to_json(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_text::json::Raw;

    fn diff(a: &str, b: &str) -> Vec<String> {
        let tree = |doc: &str| Node::from_json(Raw::of(doc).expect("JSON")).expect("JSON");
        let (names, mut noise, mut edits) = (CommonNames::default(), Noise::default(), Vec::new());
        let mut compare = Compare {
            a: &names,
            b: &names,
            noise: &mut noise,
        };
        compare.nodes("", &tree(a), &tree(b), &mut edits);
        let text = |edit: &DiffEdit| {
            let [old, new] =
                [&edit.old, &edit.new].map(|side| side.clone().unwrap_or_else(|| "–".to_owned()));
            format!("{} {}: {old} → {new}", edit.what.word(), edit.path)
        };
        edits.iter().map(text).collect()
    }

    #[test]
    fn elements_are_matched_by_what_they_are_and_not_by_their_place() {
        let a = r#"{"clusters":[{"name":"v1","weight":90},{"name":"v2","weight":10}]}"#;
        let b = r#"{"clusters":[{"name":"v2","weight":50},{"name":"v1","weight":50}]}"#;
        assert_eq!(
            diff(a, b),
            [
                "changed /clusters[v1]/weight: 90 → 50",
                "changed /clusters[v2]/weight: 10 → 50"
            ]
        );
        assert_eq!(
            diff(r#"{"domains":["a","b"]}"#, r#"{"domains":["b","a"]}"#),
            Vec::<String>::new()
        );
        assert_eq!(
            diff(r#"["a","b"]"#, r#"["b","a","c"]"#),
            ["added [c]: – → \"c\""]
        );
    }

    #[test]
    fn the_order_of_routes_is_a_difference() {
        let a = r#"{"routes":[{"match":{"prefix":"/a"}},{"match":{"prefix":"/"}}]}"#;
        let b = r#"{"routes":[{"match":{"prefix":"/"}},{"match":{"prefix":"/a"}}]}"#;
        assert_eq!(
            diff(a, b),
            ["moved /routes: prefix /a, prefix / → prefix /, prefix /a"]
        );
    }

    #[test]
    fn versions_and_stat_prefixes_are_noise() {
        assert_eq!(
            diff(
                r#"{"version_info":"1","x":1}"#,
                r#"{"version_info":"2","x":1}"#
            ),
            Vec::<String>::new()
        );
        assert_eq!(
            diff(r#"{"x":{"y":[]}}"#, r#"{"x":{"y":1}}"#),
            ["changed /x/y: [] → 1"]
        );
    }
}
