//! An example of a rule's page: documents, a question, and whether the rule fires.
//!
//! A fenced block whose info string says `fires` or `quiet` starts an example; blocks with
//! `doc=PATH` that follow belong to it. `ask="--from shop/a --to http://b.shop:8080/ --seen
//! 503/UH"` asks about a request. Its walk is that of the dumps among the documents, or what
//! `end="no-endpoints 503 UH no_healthy_upstream"` says, with `by=`, `cluster=`, `route=` and
//! `proxy=` where a rule looks at them. `clusters=west` says that the documents `west/…` are
//! another cluster's. `in=east` says that the documents `east/…` are the caller's cluster, and all
//! others' those of others; a rule of several clusters is asked of them all. `objects` asks a rule that `analyze` and `check` share as `analyze` does.
//!
//! Every example that fires marks where the rule's first evidence stands: with `# ^ CODE` below the
//! line or behind it, or with `whole=DOCUMENT` where the evidence is a document as a whole.

use std::collections::BTreeSet;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{
    Builder, Coverage, DocId, Meta, Need, Part, ProxyRef, Snapshot,
};
use meshladder_judge::finding::Spot;
use meshladder_judge::ladder::{self, Analysis, Question, Scope};
use meshladder_judge::report::Report;
use meshladder_judge::rules::{Check, Rule, Symptom};
use meshladder_mesh::{Clusters, Mesh, MeshOverrides, probe};
use meshladder_sim::cluster::TlsMode;
use meshladder_sim::request::Claims;
use meshladder_sim::trace::{Branch, End, EndKind, Hop, HopDirection, Trace};
use meshladder_sim::walk::{Call, Caller, Url};
use meshladder_text::time::Time;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Example {
    pub(super) fires: bool,
    info: String,
    line: usize,
    docs: Vec<Document>,
}

/// A document of an example. In YAML a mark is a comment and stays; elsewhere the line is taken out
/// before anyone reads it.
#[derive(Debug)]
struct Document {
    path: String,
    text: String,
    /// Lines, counted from 1, with the code that marks each.
    marks: Vec<(usize, String)>,
}

impl Document {
    fn new(path: String, lines: &[&str]) -> Self {
        let (mut text, mut marks) = (String::new(), Vec::new());
        // The last line that is no mark itself, and the number of lines so far.
        let (mut above, mut count) = (0, 0);
        for line in lines {
            let (before, code) = match line.split_once("# ^ ") {
                Some((before, code)) => (before.trim(), Some(code.to_owned())),
                None => (*line, None),
            };
            let is_only_mark = code.is_some() && before.is_empty();
            if !is_only_mark
                || std::path::Path::new(&path)
                    .extension()
                    .is_some_and(|end| end == "yaml")
            {
                text += line;
                text.push('\n');
                count += 1;
            }
            if !is_only_mark {
                above = count;
            }
            marks.extend(code.map(|code| (above, code)));
        }
        Self { path, text, marks }
    }
}

impl Example {
    /// The examples of a page.
    pub(super) fn all(page: &str) -> Vec<Self> {
        let mut examples: Vec<Self> = Vec::new();
        let mut lines = page.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else {
                continue;
            };
            let text: Vec<&str> = lines
                .by_ref()
                .map(|(_, line)| line)
                .take_while(|line| *line != "```")
                .collect();
            let words: Vec<&str> = info.split(' ').collect();
            let starts = words.contains(&"fires") || words.contains(&"quiet");
            if starts {
                let fires = words.contains(&"fires");
                examples.push(Self {
                    fires,
                    info: info.to_owned(),
                    line: number + 1,
                    docs: Vec::new(),
                });
            }
            let doc = attribute(info, "doc");
            if let (Some(example), true) = (examples.last_mut(), starts || doc.is_some()) {
                let path = doc.unwrap_or_else(|| "k8s/example.yaml".to_owned());
                example.docs.push(Document::new(path, &text));
            }
        }
        examples
    }

    /// What is wrong with it, if anything.
    pub(super) fn judge(&self, rule: &Rule) -> Option<String> {
        let report = self.report(rule);
        let found: Vec<_> = report
            .findings
            .iter()
            .filter(|told| told.finding.code == rule.code)
            .collect();
        let place = format!("{} example in line {}", rule.code, self.line);
        if found.is_empty() == self.fires {
            let others: Vec<_> = report
                .findings
                .iter()
                .map(|t| format!("{} {}", t.finding.code, t.finding.message))
                .collect();
            return Some(format!(
                "{place}: {}; the report has {others:?}",
                if self.fires { "does not fire" } else { "fires" }
            ));
        }
        for told in &found {
            if told.finding.message.ends_with('.') || told.finding.message.is_empty() {
                return Some(format!("{place}: the message `{}`", told.finding.message));
            }
            for (evidence, shown) in told.finding.evidence.iter().zip(&told.shown) {
                let unresolved = matches!(
                    evidence.spot,
                    Spot::Pointer(_) | Spot::Key(_) | Spot::Line(_)
                ) && shown.line.is_none();
                if unresolved {
                    return Some(format!("{place}: {evidence:?} leads nowhere"));
                }
            }
        }
        let places: Vec<String> = found
            .iter()
            .filter_map(|told| {
                let evidence = told.finding.evidence.first()?;
                let line = told.shown.first()?.line;
                Some(place_of(evidence.doc.as_str(), line))
            })
            .collect();
        let marked = self.marked(rule.code);
        let is_right = !self.fires || marked.iter().any(|mark| places.contains(mark));
        (!is_right).then(|| {
            let mark = format!("`# ^ {}`", rule.code);
            format!("{place}: found in {places:?}, marked with {mark} is {marked:?}")
        })
    }

    /// The kinds of object that the rule reads.
    pub(super) fn kinds_read(&self, rule: &Rule) -> BTreeSet<Kind> {
        let code = rule.code;
        probe::of_rule(code, || drop(self.report(rule)))
    }

    /// The places that are marked with the code.
    fn marked(&self, code: &str) -> Vec<String> {
        let mut marked: Vec<String> = attribute(&self.info, "whole").into_iter().collect();
        for document in &self.docs {
            let own = document.marks.iter().filter(|(_, mark)| mark == code);
            marked.extend(own.map(|(line, _)| place_of(&document.path, Some(*line))));
        }
        marked
    }

    /// Whether it is run as `analyze` runs a rule on files.
    pub(super) fn is_of_objects(&self, rule: &Rule) -> bool {
        !rule.is_of_traffic() || self.info.split(' ').any(|word| word == "objects")
    }

    fn report(&self, rule: &Rule) -> Report {
        let snapshot = self.snapshot();
        if self.is_of_objects(rule) {
            let clusters = attribute(&self.info, "clusters");
            let clusters = clusters
                .iter()
                .flat_map(|names| names.split(','))
                .map(|name| (name.to_owned(), name.to_owned()));
            let beside = MeshOverrides {
                clusters: clusters.collect(),
                ..MeshOverrides::default()
            };
            return ladder::analyze(
                &snapshot,
                &Mesh::of_files(&snapshot, &beside),
                &Analysis::default(),
            );
        }
        if matches!(rule.check, Check::Clusters(_)) {
            return self.report_of_clusters(&snapshot);
        }
        let mesh = Mesh::build(&snapshot);
        let Some(ask) = attribute(&self.info, "ask") else {
            return ladder::climb(
                &snapshot,
                &mesh,
                &Question {
                    scope: Scope::Mesh,
                    seen: None,
                    threads: 1,
                },
            );
        };
        let (call, seen) = call(&ask, &mesh);
        let trace = attribute(&self.info, "end").map(|end| self.trace(&end, &call));
        let question = Question {
            scope: Scope::Request(Box::new(call)),
            seen,
            threads: 1,
        };
        ladder::climb_along(&snapshot, &mesh, &question, trace)
    }

    fn report_of_clusters(&self, snapshot: &Snapshot) -> Report {
        let clusters = Clusters::of(snapshot).expect("documents of several clusters");
        let home = attribute(&self.info, "in")
            .map(|name| clusters.find(&name).expect("the caller's cluster"));
        let (Some(ask), Some(home)) = (attribute(&self.info, "ask"), home) else {
            let question = Question {
                scope: Scope::Mesh,
                seen: None,
                threads: 1,
            };
            return ladder::climb_clusters(snapshot, &clusters, None, &question);
        };
        let (call, seen) = call(&ask, &home.mesh);
        let trace = attribute(&self.info, "end").map(|end| self.trace(&end, &call));
        let question = Question {
            scope: Scope::Request(Box::new(call)),
            seen,
            threads: 1,
        };
        ladder::climb_clusters_along(snapshot, &clusters, Some(home), &question, trace)
    }

    /// What an example shows is all there is.
    fn snapshot(&self) -> Snapshot {
        let mut builder = Builder::new();
        let mut is_of_clusters = false;
        for Document { path, text, .. } in &self.docs {
            let id = DocId::new(path);
            let (source, _) = id.split();
            if !source.is_empty() && attribute(&self.info, "clusters").is_none() {
                let meta = Meta {
                    form: "bundle",
                    name: Some(source.to_owned()),
                    ..Meta::default()
                };
                is_of_clusters = true;
                builder.source(source, meta);
                builder.note_in(source, Need::Part(Part::Everything), Coverage::Complete);
            }
            builder.add(id.clone(), path.clone(), text.clone().into_bytes());
        }
        if !is_of_clusters {
            builder.note(Need::Part(Part::Everything), Coverage::Complete);
        }
        for denied in attribute(&self.info, "denied")
            .iter()
            .flat_map(|paths| paths.split(','))
        {
            builder.note(
                Need::of_path(denied),
                Coverage::Denied("forbidden".to_owned()),
            );
        }
        builder.taken_at(Time::parse("2026-11-15T06:00:00Z").expect("it is a time"));
        builder.finish()
    }

    fn trace(&self, end: &str, call: &Call) -> Trace {
        let words: Vec<&str> = end.split(' ').collect();
        let word = |i: usize| {
            words
                .get(i)
                .copied()
                .filter(|w| *w != "-")
                .unwrap_or_default()
        };
        let mut told = End::new(
            kind(word(0)),
            word(1).parse().unwrap_or(0),
            word(3),
            "the example says so",
        );
        told.flags = word(2)
            .split(',')
            .filter(|f| !f.is_empty())
            .map(|f| &*f.to_owned().leak())
            .collect();
        told.by = attribute(&self.info, "by");
        let cluster = attribute(&self.info, "cluster");
        let named = attribute(&self.info, "proxy");
        let (namespace, pod) = match (&named, &call.from) {
            (Some(name), _) => name.split_once('/').unwrap_or_default(),
            (None, Caller::Pod { namespace, name }) => (namespace.as_str(), name.as_str()),
            (None, _) => ("", ""),
        };
        let hop = Hop {
            proxy: ProxyRef {
                source: String::new(),
                namespace: namespace.to_owned(),
                pod: pod.to_owned(),
            },
            direction: if call.from == Caller::Outside {
                HopDirection::Gateway
            } else {
                HopDirection::Outbound
            },
            // What a mesh does unless it is told otherwise.
            tls: TlsMode::Istio,
            route: attribute(&self.info, "route"),
            clusters: cluster.iter().map(|name| (name.clone(), None)).collect(),
            ..Hop::default()
        };
        let branch = Branch {
            weight: Some(1.0),
            cluster,
            endpoint: None,
            end: told.clone(),
        };
        Trace {
            hops: vec![hop],
            outcome: told,
            branches: vec![branch],
        }
    }
}

/// `document:line`, or the document alone where the evidence is all of it.
fn place_of(document: &str, line: Option<usize>) -> String {
    line.map_or_else(|| document.to_owned(), |line| format!("{document}:{line}"))
}

fn kind(word: &str) -> EndKind {
    const KINDS: [EndKind; 10] = [
        EndKind::Forwarded,
        EndKind::Denied,
        EndKind::Answered,
        EndKind::NoListener,
        EndKind::NoRoute,
        EndKind::NoCluster,
        EndKind::NoEndpoints,
        EndKind::TlsMismatch,
        EndKind::Reset,
        EndKind::Undecided,
    ];
    KINDS
        .into_iter()
        .find(|kind| kind.word() == word)
        .unwrap_or_else(|| panic!("no outcome `{word}`"))
}

/// `name=value` or `name="several words"`.
fn attribute(info: &str, name: &str) -> Option<String> {
    let at = info.find(&format!(" {name}="))?;
    let value = &info[at + name.len() + 2..];
    Some(match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
        None => value.split(' ').next().unwrap_or_default().to_owned(),
    })
}

/// The flags of `why`, as far as examples need them. `--from` names a pod.
fn call(ask: &str, mesh: &Mesh) -> (Call, Option<Symptom>) {
    let mut words = ask.split(' ');
    let (mut from, mut to, mut method, mut seen, mut http) = (
        Caller::Somebody,
        None,
        "GET".to_owned(),
        None,
        "1.1".to_owned(),
    );
    let mut headers = Vec::new();
    while let Some(flag) = words.next() {
        let value = words
            .next()
            .unwrap_or_else(|| panic!("{flag} has no value"));
        match flag {
            "--from" if value == "outside" => from = Caller::Outside,
            "--from" => {
                let (namespace, name) = value.split_once('/').expect("namespace/pod");
                let pod = mesh
                    .pods
                    .iter()
                    .find(|pod| pod.namespace == namespace && pod.name.starts_with(name));
                let name = pod.map_or(name, |pod| &pod.name).to_owned();
                from = Caller::Pod {
                    namespace: namespace.to_owned(),
                    name,
                };
            }
            "--to" => to = Some(Url::parse(value).expect("a URL")),
            "-X" => value.clone_into(&mut method),
            "-H" => {
                let (name, value) = value.split_once(':').expect("name:value");
                // Words are parted by blanks, so a blank in a value is written as in a URL.
                headers.push((name.to_ascii_lowercase(), value.replace("%20", " ")));
            }
            "--http" => value.clone_into(&mut http),
            "--seen" => seen = Some(Symptom::parse(value).expect("what was seen")),
            other => panic!("no flag `{other}`"),
        }
    }
    let to = to.expect("--to");
    let call = Call {
        from,
        to,
        method,
        headers,
        http,
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::None,
    };
    (call, seen)
}
