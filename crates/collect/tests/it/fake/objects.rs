//! Lists, single objects, tables, discovery and reviews.

use serde_json::{Value, json};

use super::State;

/// A path of the API, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) sub: Option<String>,
}

impl Target {
    pub(crate) fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, plural, rest @ ..] => {
                (Some(*namespace), [&[*plural], rest].concat())
            }
            rest => (None, rest.to_vec()),
        };
        let own = |text: Option<&&str>| text.map(|text| (*text).to_owned());
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.map(str::to_owned),
            plural: own(rest.first()).unwrap_or_default(),
            name: own(rest.get(1)),
            sub: own(rest.get(2)),
        })
    }

    pub(crate) fn kind(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }
}

pub(crate) fn status(code: u16, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message})
}

/// What is served under a group and version.
pub(crate) fn discovery(state: &State, target: &Target) -> Option<Value> {
    let suffix = if target.group.is_empty() {
        String::new()
    } else {
        format!(".{}", target.group)
    };
    let inside = |kind: &&String| match kind.split_once('.') {
        Some((_, group)) => group == target.group,
        None => target.group.is_empty(),
    };
    let kinds: Vec<&String> = state.objects.keys().filter(inside).collect();
    if kinds.is_empty() || !state.serves(&target.group, &target.version) {
        return None;
    }
    let resource = |kind: &&String| json!({"name": kind.strip_suffix(&suffix).unwrap_or(kind), "namespaced": true, "kind": "X", "verbs": ["list"]});
    let all: Vec<Value> = kinds.iter().map(resource).collect();
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "resources": all}))
}

/// A page of a list, as the `Accept` header wants it.
pub(crate) fn list(
    state: &State,
    target: &Target,
    query: &[(String, String)],
    accept: &str,
) -> (u16, Value) {
    let get = |key: &str| {
        query
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    };
    let Some(all) = state
        .objects
        .get(&target.kind())
        .filter(|_| state.serves(&target.group, &target.version))
    else {
        return (
            404,
            status(404, "the server could not find the requested resource"),
        );
    };
    let label = get("labelSelector").and_then(|text| text.split_once('='));
    let fits = |item: &&Value| {
        target
            .namespace
            .as_ref()
            .is_none_or(|ns| item["metadata"]["namespace"] == **ns)
            && label.is_none_or(|(key, value)| item["metadata"]["labels"][key] == value)
            && (get("fieldSelector") != Some("type!=Normal") || item["type"] != "Normal")
            && get("fieldSelector")
                .and_then(|text| text.strip_prefix("metadata.name="))
                .is_none_or(|name| item["metadata"]["name"] == name)
            && !(target.plural == "pods"
                && state.is_gone(
                    item["metadata"]["namespace"].as_str().unwrap_or_default(),
                    item["metadata"]["name"].as_str().unwrap_or_default(),
                ))
    };
    let items: Vec<&Value> = all.iter().filter(fits).collect();
    let start: usize = get("continue")
        .and_then(|token| token.parse().ok())
        .unwrap_or(0);
    let limit = get("limit")
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(usize::MAX);
    let end = start.saturating_add(limit).min(items.len());
    let page = items.get(start..end).unwrap_or_default();
    let next = if end < items.len() {
        end.to_string()
    } else {
        String::new()
    };
    let mut metadata = json!({"resourceVersion": "1", "continue": next});
    // "Servers … may omit" it with a selector.
    if !next.is_empty() && label.is_none() {
        metadata["remainingItemCount"] = json!(items.len() - end);
    }
    let bare = |item: &&Value| {
        let mut item = (*item).clone();
        if let Some(object) = item.as_object_mut().filter(|_| target.group.is_empty()) {
            object.remove("kind");
            object.remove("apiVersion");
        }
        item["metadata"]["managedFields"] = json!([{"manager": "hunter2-manager"}]);
        item
    };
    let slim = |item: &&Value| json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]});
    let answer = if accept.contains("as=Table") {
        let row = |item: &&Value| json!({"cells": [item["metadata"]["name"], item["type"], 1, "1d"], "object": slim(item)});
        let columns =
            json!([{"name": "Name"}, {"name": "Type"}, {"name": "Data"}, {"name": "Age"}]);
        let rows: Vec<Value> = page.iter().map(row).collect();
        json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns, "rows": rows})
    } else if accept.contains("PartialObjectMetadataList") {
        let items: Vec<Value> = page.iter().map(slim).collect();
        json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items})
    } else {
        let items: Vec<Value> = page.iter().map(bare).collect();
        json!({"kind": "XList", "apiVersion": "v1", "metadata": metadata, "items": items})
    };
    (200, answer)
}

/// What a watch tells: of a version that is too old that it is; else every object and a bookmark.
pub(crate) fn events(state: &State, target: &Target, query: &[(String, String)]) -> Vec<Value> {
    let rest: Vec<_> = query
        .iter()
        .filter(|(name, _)| !["limit", "continue"].contains(&name.as_str()))
        .cloned()
        .collect();
    let (code, list) = list(state, target, &rest, "");
    let is_old = query
        .iter()
        .any(|(name, value)| name == "resourceVersion" && value == "too-old");
    if code != 200 || is_old {
        let code = if is_old { 410 } else { code };
        return vec![json!({"type": "ERROR", "object": status(code, "too old resource version")})];
    }
    let added = list["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| json!({"type": "ADDED", "object": item}));
    let bookmark = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "1"}}});
    added.chain([bookmark]).collect()
}

/// A single object.
pub(crate) fn object(state: &State, target: &Target) -> (u16, Value) {
    let all = state
        .objects
        .get(&target.kind())
        .map(Vec::as_slice)
        .unwrap_or_default();
    let is = |item: &&Value| {
        Some(item["metadata"]["name"].as_str().unwrap_or_default()) == target.name.as_deref()
            && target
                .namespace
                .as_ref()
                .is_none_or(|ns| item["metadata"]["namespace"] == **ns)
    };
    all.iter()
        .find(is)
        .map_or((404, status(404, "not found")), |item| (200, item.clone()))
}

/// What may be done in a namespace.
/// What the authorizer says to one right.
pub(crate) fn access_review(state: &State, asked: &Value) -> Value {
    let wanted = |key: &str| {
        asked["spec"]["resourceAttributes"][key]
            .as_str()
            .unwrap_or_default()
    };
    let join = |text: &str, mark: &str, more: &str| match more {
        "" => text.to_owned(),
        more => format!("{text}{mark}{more}"),
    };
    let resource = join(
        &join(wanted("resource"), "/", wanted("subresource")),
        ".",
        wanted("group"),
    );
    let namespace = Some(wanted("namespace")).filter(|namespace| !namespace.is_empty());
    let allowed = state.allows(wanted("verb"), &resource, namespace);
    json!({"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": {"allowed": allowed}})
}

pub(crate) fn rules_review(state: &State, asked: &Value) -> Value {
    let namespace = asked["spec"]["namespace"].as_str().unwrap_or_default();
    let mut rules = Vec::new();
    let mut grant = |verb: &str, kind: &str| {
        let (plural, group) = kind.split_once('.').unwrap_or((kind, ""));
        if state.allows(verb, kind, Some(namespace)) {
            rules.push(json!({"verbs": [verb], "apiGroups": [group], "resources": [plural]}));
        }
    };
    for kind in state.objects.keys() {
        grant("list", kind);
        grant("get", kind);
    }
    for kind in ["pods/portforward", "pods/exec"] {
        grant("create", kind);
        grant("get", kind);
    }
    grant("get", "pods/log");
    grant("get", "services/proxy");
    json!({"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "status": {"incomplete": false, "resourceRules": rules, "nonResourceRules": []}})
}
