//! Tells what a document is by its first bytes, never by its name.

use meshladder_capture::snapshot::Problem;
use meshladder_text::json::{Raw, ValueKind};
use meshladder_text::place::Place;

use crate::source_file::SourceFile;

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Kubernetes objects, YAML or JSON.
    Objects,
    /// Envoy's `/config_dump`.
    ConfigDump,
    /// ztunnel's `/config_dump`.
    Ztunnel,
    /// Envoy's `/clusters?format=json`.
    ClustersJson,
    /// Envoy's `/clusters`.
    ClustersText,
    /// Envoy's `/listeners?format=json`.
    ListenersJson,
    /// Envoy's `/listeners`.
    ListenersText,
    /// Envoy's `/certs`.
    Certs,
    /// Envoy's `/server_info`.
    ServerInfo,
    /// Envoy's `/stats`.
    Stats,
    /// Envoy's `/stats/prometheus`.
    Prometheus,
    /// Envoy's `/logging`.
    Logging,
    /// istiod's `/debug/syncz`.
    Syncz,
}

/// What the first bytes tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    Known(Content),
    /// Nothing but white space and comments.
    Blank,
    /// More bytes may tell.
    Undecided,
    /// None of the above, and what it seems to be.
    Unknown(String),
}

/// Tells what a document is. `whole` says that `head` is all of it.
pub(crate) fn sniff(head: &[u8], whole: bool) -> Guess {
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Guess::Unknown("UTF-16 text; convert it to UTF-8 first".to_owned());
    }
    if memchr::memchr(0, head).is_some() {
        return Guess::Unknown("binary data of no known kind".to_owned());
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}');
    let json = Raw::of(text)
        .ok()
        .filter(|raw| matches!(raw.kind(), ValueKind::Object | ValueKind::Array));
    let content = json
        .and_then(|raw| of_json(raw, keys(raw).as_slice()))
        .or_else(|| of_text(text));
    match content {
        Some(content) => Guess::Known(content),
        None if !whole => Guess::Undecided,
        None => json.map_or_else(|| no_text(text), |raw| Guess::Unknown(no_json(raw))),
    }
}

/// Whether these are the first bytes of a JSON object or list.
pub(crate) fn is_json(head: &[u8]) -> bool {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    matches!(head.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Where the JSON starts; none for any other text.
pub(crate) fn json_place(head: &[u8]) -> Option<Place> {
    let text = String::from_utf8_lossy(head);
    is_json(head).then(|| Place::of(&text, Raw::of(&text).map_or(0, Raw::offset)))
}

/// What is wrong with a document that is told by the name of a member which should be a list and is
/// not.
pub(crate) fn wrong_shape(found: &SourceFile, content: Content) -> Option<Problem> {
    let key = match content {
        Content::ConfigDump => "configs",
        Content::ClustersJson => "cluster_statuses",
        Content::ListenersJson => "listener_statuses",
        Content::Certs => "certificates",
        Content::Objects => "items",
        _ => return None,
    };
    let (head, _) = found.head().ok().filter(|(head, _)| is_json(head))?;
    let text = String::from_utf8_lossy(&head);
    let mut problem = None;
    Raw::of(&text).ok()?.cursor().members(|name, value| {
        let value = value.peek();
        if name == key && value.kind() != ValueKind::Array && value.offset() < text.len() {
            let what = format!("`{key}` is {}, not a list", told(value));
            let place = Some(Place::of(&text, value.offset()));
            problem = Some(Problem {
                place,
                ..Problem::new(&found.origin, what)
            });
        }
    });
    problem
}

fn told(value: Raw<'_>) -> String {
    match value.kind() {
        ValueKind::Object => "an object".to_owned(),
        ValueKind::Array => "a list".to_owned(),
        ValueKind::String => "a text".to_owned(),
        ValueKind::Scalar => {
            let word: String = value
                .text()
                .chars()
                .take_while(|c| c.is_alphanumeric() || "+-._".contains(*c))
                .collect();
            format!("`{word}`")
        }
    }
}

/// The names of an object's members, or of the members of a list's first element, as far as the
/// text goes.
fn keys(json: Raw<'_>) -> Vec<String> {
    let mut keys = Vec::new();
    let mut cursor = json.cursor();
    if json.kind() == ValueKind::Object {
        cursor.members(|key, _| keys.push(key.to_owned()));
    } else {
        let mut first = true;
        cursor.elements(|element| {
            if std::mem::take(&mut first) {
                element.members(|key, _| keys.push(key.to_owned()));
            }
        });
    }
    keys
}

fn of_json(json: Raw<'_>, keys: &[String]) -> Option<Content> {
    let has = |key: &str| keys.iter().any(|k| k == key);
    let is_object = has("apiVersion") && has("kind");
    Some(match json.kind() {
        ValueKind::Array if is_object => Content::Objects,
        ValueKind::Array if has("proxy") && has("cluster_id") => Content::Syncz,
        ValueKind::Array => return None,
        _ if has("configs") => Content::ConfigDump,
        _ if has("cluster_statuses") => Content::ClustersJson,
        _ if has("listener_statuses") => Content::ListenersJson,
        _ if has("workloads") && (has("services") || has("policies")) => Content::Ztunnel,
        _ if has("command_line_options") => Content::ServerInfo,
        _ if is_object || (has("apiVersion") && has("items")) || has("items") => Content::Objects,
        _ if has("certificates") => Content::Certs,
        _ => return None,
    })
}

/// Whether a line of YAML says what object it is part of: `kind:`, `- "apiVersion":`, `{kind:`.
fn names_object(line: &str) -> bool {
    let line = line.trim_start();
    let line = line
        .strip_prefix("- ")
        .unwrap_or(line)
        .trim_start_matches(['{', '"', '\'', ' ']);
    let after = line
        .strip_prefix("apiVersion")
        .or_else(|| line.strip_prefix("kind"));
    let Some(after) = after else {
        return false;
    };
    let after = after.trim_start_matches(['"', '\'']);
    after.trim_start().starts_with(':')
}

fn of_text(text: &str) -> Option<Content> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    // A document may be indented as a whole.
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let margin = lines()
        .find(|line| !line.starts_with(['#', '-']))
        .map_or(0, indent);
    if lines().any(|line| indent(line) <= margin && names_object(line)) {
        return Some(Content::Objects);
    }
    if lines().next()?.starts_with("active loggers:") {
        return Some(Content::Logging);
    }
    // The last line may be cut.
    let count = lines().count();
    let all = |fits: fn(&str) -> bool| {
        lines()
            .take(50.min(count.saturating_sub(1).max(1)))
            .all(fits)
    };
    if all(|line| line.split("::").count() >= 3) {
        return Some(Content::ClustersText);
    }
    if all(|line| line.split("::").count() >= 2 && !line.contains(' ')) {
        return Some(Content::ListenersText);
    }
    if all(is_prometheus) {
        return Some(Content::Prometheus);
    }
    all(is_stat).then_some(Content::Stats)
}

/// `# TYPE envoy_x counter`, `envoy_x{a="b"} 1`
fn is_prometheus(line: &str) -> bool {
    if line.starts_with("# TYPE ") || line.starts_with("# HELP ") {
        return true;
    }
    let Some((name, value)) = line.rsplit_once(' ') else {
        return false;
    };
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts
        && (name.ends_with('}') || !name.contains([' ', ':', '.']))
        && value.parse::<f64>().is_ok()
}

/// `cluster.x.upstream_rq_total: 1`, `listener_manager.lds.version_text: "…"`, a histogram's `…:
/// P0(nan,1.0) …`
fn is_stat(line: &str) -> bool {
    let Some((name, value)) = line.split_once(": ") else {
        return false;
    };
    let is_value = value.bytes().all(|b| b.is_ascii_digit())
        || value.starts_with('"')
        || value.starts_with("P0(")
        || value == "No recorded values";
    name.contains('.') && !name.contains(' ') && is_value
}

fn no_text(text: &str) -> Guess {
    let is_blank = |line: &str| line.is_empty() || line.starts_with('#') || line == "---";
    if text.lines().all(|line| is_blank(line.trim())) {
        return Guess::Blank;
    }
    Guess::Unknown(
        "text, but neither Kubernetes objects (no `apiVersion` and `kind`) nor anything Envoy writes".to_owned(),
    )
}

fn no_json(json: Raw<'_>) -> String {
    let keys: Vec<String> = keys(json)
        .into_iter()
        .take(5)
        .map(|key| format!("`{key}`"))
        .collect();
    let with = if keys.is_empty() {
        String::new()
    } else {
        format!(" (it has {})", keys.join(", "))
    };
    let what = if json.kind() == ValueKind::Array {
        "a JSON list of no known kind"
    } else {
        "JSON of no known kind"
    };
    format!("{what}{with}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_told_by_what_it_says() {
        use Content::*;
        for (text, content) in [
            ("{\"configs\": [{\"@type\": \"x\"", ConfigDump),
            ("{\"cluster_statuses\": [", ClustersJson),
            ("{\"listener_statuses\": []}", ListenersJson),
            ("{\"certificates\": []}", Certs),
            (
                "{\"version\": \"x\", \"command_line_options\": {",
                ServerInfo,
            ),
            (
                "{\"certificates\": [], \"policies\": [], \"services\": [], \"workloads\": []}",
                Ztunnel,
            ),
            ("\u{feff} {\"apiVersion\": \"v1\", \"items\": [{", Objects),
            ("{\"kind\": \"Pod\", \"apiVersion\": \"v1\"}", Objects),
            ("[{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}, 3]", Objects),
            ("[{\"cluster_id\": \"K\", \"proxy\": \"a.b\"}]", Syncz),
            ("{apiVersion: v1, kind: Pod}", Objects),
            ("# a comment\n---\napiVersion: v1\r\nkind: Pod\r\n", Objects),
            ("metadata:\n  name: x\n\"kind\": Pod\n", Objects),
            ("- apiVersion: v1\n  kind: Pod\n", Objects),
            ("---\n  apiVersion: v1\n  kind: Pod\n", Objects),
            (
                "outbound|80||a::observability_name::b\noutbound|80||a::10.0.0.1:80::cx_act",
                ClustersText,
            ),
            (
                "0.0.0.0_80::0.0.0.0:80\nvirtualInbound::0.0.0.0:15006\n",
                ListenersText,
            ),
            (
                "# TYPE envoy_x counter\nenvoy_x{a=\"b c\"} 1\nenvoy_y 2.5e+3\n",
                Prometheus,
            ),
            (
                "cluster.a;.x: 0\nlistener.b.version_text: \"1\"\nc.d: P0(nan,1.0) P25(nan,2)\ne.f: No recorded values\n",
                Stats,
            ),
            ("active loggers:\n  admin: warning\n", Logging),
        ] {
            assert_eq!(
                sniff(text.as_bytes(), false),
                Guess::Known(content),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_nothing_known_says_what_it_seems_to_be() {
        for (text, what) in [
            (
                "{\"name\": \"x\", \"private\": true}",
                "JSON of no known kind (it has `name`, `private`)",
            ),
            ("[1, 2]", "a JSON list of no known kind"),
            ("a: 1\nb: 2\n", "text, but neither"),
            ("a:\n  kind: Pod\n", "text, but neither"),
            ("a\0b", "binary data"),
            ("# Readme\n\nSome words: here\n", "text, but neither"),
        ] {
            match sniff(text.as_bytes(), true) {
                Guess::Unknown(told) => assert!(told.starts_with(what), "{told}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(
            matches!(sniff(b"\xff\xfea\0", true), Guess::Unknown(what) if what.contains("UTF-16"))
        );
    }

    #[test]
    fn a_start_that_tells_nothing_leaves_it_open_and_blank_text_is_blank() {
        assert_eq!(sniff(b"{\"spec\": {\"a\": 1", false), Guess::Undecided);
        assert_eq!(sniff(b"data:\n  a: 1\n", false), Guess::Undecided);
        assert_eq!(sniff(b"# only a comment\n---\n\n", true), Guess::Blank);
        assert_eq!(sniff(b"", true), Guess::Blank);
    }

    #[test]
    fn deep_nesting_is_walked_without_recursion() {
        let deep = format!(
            "{{\"a\": {}, \"kind\": 1, \"apiVersion\": 2}}",
            "[".repeat(100_000) + &"]".repeat(100_000)
        );
        assert_eq!(sniff(deep.as_bytes(), true), Guess::Known(Content::Objects));
    }
}
