//! Lists of objects: by pages, again from the start when a page has expired, and where the whole
//! cluster may not be listed, the namespaces that may.

use std::collections::BTreeSet;

use meshladder_capture::Kind;
use meshladder_capture::kind::Depth;
use meshladder_capture::snapshot::Coverage;
use serde_json::{Map, Value, json};

use super::api::{Cluster, JSON};
use super::kinds;
use super::lack::Lack;
use super::pods::PodNote;
use super::spool::Spool;
use crate::source_file::Body;

/// Like `kubectl`: large enough that few requests are needed, small enough for any server.
pub(crate) const PAGE: usize = 500;

/// How often a list is started again when its continue token expires.
const RESTARTS: usize = 2;

pub(crate) const METADATA: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

/// Where to look for objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListScope {
    /// Only here, even if more could be listed; everywhere when nowhere is named.
    pub(crate) only: Vec<String>,
    /// Where the whole cluster may not be listed: here.
    pub(crate) else_in: Vec<String>,
}

/// A list as far as it could be had.
pub(crate) struct ListResult {
    pub(crate) kind: Kind,
    pub(crate) body: Option<Body>,
    /// Anything but complete is noted.
    pub(crate) coverage: Coverage,
    pub(crate) pods: Vec<PodNote>,
}

/// Lists a kind.
pub(crate) async fn list(
    cluster: &Cluster,
    kind: Kind,
    place: &ListScope,
    except: &BTreeSet<(String, String, String)>,
) -> ListResult {
    let (spool, pods) = (Spool::default(), Vec::new());
    let mut lister = Lister {
        cluster,
        kind,
        except,
        spool,
        pods,
    };
    let outcome = match place.only.as_slice() {
        [] => lister.everywhere(&place.else_in).await,
        only => lister.in_namespaces(only, None).await,
    };
    let coverage = outcome.unwrap_or_else(|lack| lack.coverage());
    let Lister { spool, pods, .. } = lister;
    let is_empty = spool.count() == 0;
    let (body, coverage) = match spool.finish() {
        // Of a kind that could not be read there is no document: an empty list would say that there
        // are none.
        Ok(_) if is_empty && coverage != Coverage::Complete => (None, coverage),
        Ok(body) => (Some(body), coverage),
        Err(error) => (
            None,
            Coverage::Lost(format!("no space to keep it: {error}")),
        ),
    };
    ListResult {
        kind,
        body,
        coverage,
        pods,
    }
}

struct Lister<'c> {
    cluster: &'c Cluster,
    kind: Kind,
    except: &'c BTreeSet<(String, String, String)>,
    spool: Spool,
    pods: Vec<PodNote>,
}

impl Lister<'_> {
    async fn everywhere(&mut self, else_in: &[String]) -> Result<Coverage, Lack> {
        match self.pages(None).await {
            Ok(()) => Ok(Coverage::Complete),
            Err(Lack::Refused(_)) if !self.is_served().await => Ok(Coverage::Complete),
            Err(Lack::Refused(_)) if self.kind.is_namespaced() && !else_in.is_empty() => {
                self.in_namespaces(else_in, Some("in all namespaces")).await
            }
            Err(Lack::Refused(_)) => Err(self.refused(None)),
            Err(lack) => Err(lack),
        }
    }

    /// Lists some namespaces; `refused` is where it may not be listed.
    async fn in_namespaces(
        &mut self,
        namespaces: &[String],
        refused: Option<&str>,
    ) -> Result<Coverage, Lack> {
        let (mut read, mut last) = (Vec::new(), None);
        for namespace in namespaces {
            let allowed = match refused {
                Some(_) => {
                    self.cluster
                        .allows("list", self.kind.group(), self.kind.plural(), namespace)
                        .await
                }
                None => None,
            };
            let outcome = if allowed == Some(false) {
                Err(self.refused(Some(namespace)))
            } else {
                self.pages(Some(namespace)).await
            };
            match outcome {
                Ok(()) => read.push(namespace.as_str()),
                Err(Lack::Refused(_)) => last = Some(self.refused(Some(namespace))),
                Err(lack) => last = Some(lack),
            }
        }
        let read = read.join(", ");
        match (last, refused) {
            (Some(lack), _) if read.is_empty() => Err(lack),
            (None, None) => Ok(Coverage::Partial(format!(
                "only namespace {read} was asked for"
            ))),
            (None | Some(Lack::Refused(_)), _) => {
                let why = self.right(refused.unwrap_or_default());
                Ok(Coverage::Partial(format!("only namespace {read}: {why}")))
            }
            (Some(lack), _) => {
                let why = lack.why();
                Ok(Coverage::Lost(format!("only namespace {read}: {why}")))
            }
        }
    }

    fn refused(&self, namespace: Option<&str>) -> Lack {
        let place = match namespace {
            Some(namespace) => format!("in namespace {namespace}"),
            None if self.kind.is_namespaced() => "in all namespaces".to_owned(),
            None => String::new(),
        };
        Lack::Refused(self.right(&place))
    }

    fn right(&self, place: &str) -> String {
        format!("no right to list {} {place}", self.kind.name())
            .trim_end()
            .to_owned()
    }

    /// Who may not list a kind cannot tell by that whether it exists. Everybody may ask what is
    /// served.
    async fn is_served(&self) -> bool {
        for version in self.kind.versions() {
            match self
                .cluster
                .get_json(&kinds::api(self.kind, version), JSON)
                .await
            {
                Ok(resources) => {
                    let all = resources["resources"]
                        .as_array()
                        .cloned()
                        .unwrap_or_default();
                    if all
                        .iter()
                        .any(|resource| resource["name"] == self.kind.plural())
                    {
                        return true;
                    }
                }
                Err(Lack::Absent) => {}
                Err(_) => return true,
            }
        }
        false
    }

    /// All pages, from the first version that is served. Of a kind that no version serves there is
    /// nothing.
    async fn pages(&mut self, namespace: Option<&str>) -> Result<(), Lack> {
        for version in self.kind.versions() {
            match self.of_version(version, namespace).await {
                Err(Lack::Absent) => {}
                done => return done,
            }
        }
        Ok(())
    }

    async fn of_version(&mut self, version: &str, namespace: Option<&str>) -> Result<(), Lack> {
        for _ in 0..=RESTARTS {
            let (mark, pods) = (self.spool.mark(), self.pods.len());
            match self.once(version, namespace, PAGE).await {
                Err(Lack::Expired) => {
                    self.spool.rewind(mark).map_err(|error| no_space(&error))?;
                    self.pods.truncate(pods);
                }
                done => return done,
            }
        }
        // A list that changes faster than it can be paged is asked for in one piece, from the
        // server's cache.
        self.once(version, namespace, 0).await
    }

    async fn once(
        &mut self,
        version: &str,
        namespace: Option<&str>,
        page: usize,
    ) -> Result<(), Lack> {
        let path = kinds::path(self.kind, version, namespace);
        let mut token = String::new();
        loop {
            let answer = self
                .cluster
                .get_json(
                    &format!("{path}?{}", self.query(page, &token)),
                    self.accept(),
                )
                .await?;
            self.take(&answer, version)?;
            match answer["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => next.clone_into(&mut token),
                _ => return Ok(()),
            }
        }
    }

    fn query(&self, page: usize, token: &str) -> String {
        let mut query = if page == 0 {
            "resourceVersion=0".to_owned()
        } else {
            format!("limit={page}")
        };
        if self.kind.depth() == Depth::Warnings {
            query += "&fieldSelector=type%21%3DNormal";
        }
        if !token.is_empty() {
            query.extend(["&continue=", &escaped(token)]);
        }
        query
    }

    fn accept(&self) -> &'static str {
        match self.kind.depth() {
            Depth::Whole | Depth::Warnings => JSON,
            Depth::Metadata | Depth::Nothing | Depth::Named => METADATA,
            Depth::Table => TABLE,
        }
    }

    fn take(&mut self, answer: &Value, version: &str) -> Result<(), Lack> {
        let api_version = kinds::api_version(self.kind, version);
        for row in items(answer)? {
            let item = item(self.kind, &api_version, row, answer);
            if !self.except.is_empty() && self.except.contains(&id(&item)) {
                continue;
            }
            if self.kind == Kind::Pod {
                self.pods.push(PodNote::of(&item));
            }
            self.spool.push(&item).map_err(|error| no_space(&error))?;
        }
        Ok(())
    }
}

/// What a page holds.
pub(crate) fn items(page: &Value) -> Result<&[Value], Lack> {
    let kind = page["kind"].as_str().unwrap_or_default();
    let items = if kind == "Table" {
        &page["rows"]
    } else {
        &page["items"]
    };
    match items.as_array() {
        Some(items) => Ok(items),
        // Go writes a list of nothing as null.
        None if kind.ends_with("List") || kind == "Table" => Ok(&[]),
        None => Err(Lack::failed(
            "the API server answered something that is no list",
        )),
    }
}

pub(crate) fn no_space(error: &std::io::Error) -> Lack {
    Lack::failed(format!("no space to keep it: {error}"))
}

/// An object as `kubectl get -o json` prints it: with its kind, without `managedFields`; of a
/// Secret no value, ever.
fn item(kind: Kind, api_version: &str, row: &Value, list: &Value) -> Value {
    if kind.depth() == Depth::Table {
        return secret(row, list);
    }
    let mut item = row.clone();
    item["apiVersion"] = json!(api_version);
    item["kind"] = json!(kind.singular());
    if let Some(metadata) = item["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    item
}

fn id(item: &Value) -> (String, String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (
        text(&item["kind"]),
        text(&item["metadata"]["namespace"]),
        text(&item["metadata"]["name"]),
    )
}

/// A Secret's name and type; of a server that prints no table also the names of its keys.
/// Annotations are left out: `kubectl apply` keeps the values in one.
fn secret(row: &Value, list: &Value) -> Value {
    let from_table = row["object"].is_object();
    let metadata = if from_table {
        &row["object"]["metadata"]
    } else {
        &row["metadata"]
    };
    let kept = ["creationTimestamp", "labels", "name", "namespace", "uid"];
    let metadata: Map<String, Value> = kept
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), metadata.get(*key)?.clone())))
        .collect();
    let columns = list["columnDefinitions"].as_array();
    let column =
        columns.and_then(|columns| columns.iter().position(|column| column["name"] == "Type"));
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata});
    secret["type"] = match column {
        Some(column) => row["cells"][column].clone(),
        None => row["type"].clone(),
    };
    if let Some(data) = row["data"].as_object() {
        secret["data"] = data
            .keys()
            .map(|key| (key.clone(), json!("")))
            .collect::<Map<_, _>>()
            .into();
    }
    secret
}

/// A value in a query.
pub(crate) fn escaped(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
    text.bytes()
        .map(|b| {
            if plain(b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}
