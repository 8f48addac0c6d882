//! One function a parser of the core: it may be given any bytes, and must neither panic nor lie
//! about places. The fuzz targets call these, and so do ordinary tests, on the corpus.

#![allow(dead_code, reason = "each fuzz target uses one of them")]

use std::collections::BTreeMap;

use meshladder_capture::access_log::{FormatList, LogFormat};
use meshladder_capture::envoy::clusters::{ClusterStatuses, as_json};
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::istiod::syncz as syncz_text;
use meshladder_capture::snapshot::{self, DocId};
use meshladder_judge::finding::Spot;
use meshladder_judge::ladder;
use meshladder_judge::logs::{Chunk, Collector, Event, LineFilter, LogFormats};
use meshladder_judge::prometheus::answer::PrometheusAnswer;
use meshladder_judge::prometheus::rates::{self, Answers};
use meshladder_mesh::{Mesh, MeshOverrides};
use meshladder_output as output;
use meshladder_output::logs::LogReport;
use meshladder_output::prometheus::samples_json;
use meshladder_output::tables::{
    bootstrap, cluster, ecds, eds, endpoint, flag_rates, listener, logs, route, secret, status,
};
use meshladder_text::json::{self, Raw};
use meshladder_text::tree::Node;
use meshladder_text::x509;
use meshladder_text::yaml as yaml_text;

pub(crate) fn json(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(root) = Raw::of(text) else { return };
    let strict = json::check(text).is_ok();
    let tree = Node::from_json(root);
    if let Ok(node) = &tree {
        spans_are_in(node, text);
        let mut written = String::new();
        output::json::write(&mut written, root, output::json::Style::PRETTY)
            .expect("a String takes everything");
        if strict {
            assert!(
                json::check(&written).is_ok(),
                "what is written is JSON: {written}"
            );
        }
    }
    let mut written = String::new();
    output::json::write(&mut written, root, output::json::Style::ISTIOCTL)
        .expect("a String takes everything");
}

pub(crate) fn yaml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let loaded = yaml_text::load(text);
    for node in &loaded.documents {
        spans_are_in(node, text);
        let _ = output::yaml::text(node);
    }
    assert!(
        loaded
            .problems
            .iter()
            .all(|problem| problem.at <= text.len())
    );
}

fn spans_are_in(node: &Node, text: &str) {
    assert!(
        text.get(node.span.range()).is_some(),
        "{:?} is in the text",
        node.span
    );
    node.items()
        .iter()
        .for_each(|item| spans_are_in(item, text));
    for member in node.members() {
        assert!(text.get(member.key_span.range()).is_some());
        spans_are_in(&member.value, text);
    }
}

pub(crate) fn config_dump(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(dump) = Dump::index(text, &Section::ALL) else {
        return;
    };
    assert!(
        dump.fault
            .as_ref()
            .is_none_or(|fault| fault.at <= text.len())
    );
    for wide in [false, true] {
        let _ = cluster::table(
            &cluster::select(&dump, &cluster::ClusterFilter::default(), wide),
            wide,
            wide,
        )
        .to_string();
        let listeners = listener::select(&dump, &listener::ListenerFilter::default(), wide);
        let _ = listener::table(listeners, !wide, wide, wide).to_string();
        let _ = route::table(&route::select(&dump, None, wide), wide, wide).to_string();
        let _ = ecds::table(&ecds::select(&dump), wide).to_string();
        let _ = secret::table(&secret::select(&dump), None, wide, wide).to_string();
        let filter = eds::EndpointFilter::default();
        let _ = eds::table(&eds::select(&dump, &filter), &filter, wide, wide).to_string();
    }
    let _ = dump.section(Section::Bootstrap).map(bootstrap::versions);
}

pub(crate) fn clusters(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(json) = as_json(text) else { return };
    let Ok(clusters) = ClusterStatuses::read(&json) else {
        return;
    };
    let hosts = endpoint::select(&clusters, &eds::EndpointFilter::default());
    let _ = endpoint::table(&clusters, &hosts, true).to_string();
}

pub(crate) fn prometheus_answer(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(answer) = PrometheusAnswer::read(text) {
        let rates = Answers {
            now: &answer,
            hour: &answer,
            day: &answer,
        };
        let rows = rates::rows(rates, &["response_flags", "reporter"], 300.0);
        let _ = flag_rates::table(&rows, &[]).to_string();
        let samples = samples_json(None, text, &answer.samples);
        assert!(json::check(&samples).is_ok());
    }
}

pub(crate) fn syncz(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok((connections, _)) = syncz_text::read(text) else {
        return;
    };
    let row = |connection| status::ProxyStatusRow {
        istiod: String::new(),
        revision: String::new(),
        connection,
    };
    let rows = status::select(connections.into_iter().map(row).collect(), None);
    assert!(json::check(&status::to_json(&rows)).is_ok());
    let _ = status::verbose_table(&rows, None).to_string();
}

pub(crate) fn access_log(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // The first line is a format, the rest is a log in it.
    let (first, rest) = text.split_once('\n').unwrap_or((&text, &text));
    let formats = LogFormats::same(FormatList::new(
        LogFormat::compile(first).into_iter().collect(),
    ));
    let filter = LineFilter::default();
    let mut collector = Collector::new(&formats, &filter);
    let mut lines = 0;
    collector.each(
        Chunk {
            source: 0,
            first_line: 1,
            text: rest,
        },
        |event| {
            lines += 1;
            if let Event::Line {
                record,
                judgement,
                number,
                ..
            } = event
            {
                assert!(
                    json::check(&output::logs::line_json("log", number, record, judgement)).is_ok()
                );
                let _ = output::logs::line_text("log", number, record, judgement);
            }
        },
    );
    let summary = collector.finish().summary();
    let stats = &summary.stats;
    assert_eq!(stats.requests + stats.connections + stats.malformed, lines);
    let told = LogReport {
        summary: &summary,
        sources: &["log".to_owned()],
        commands: &[],
        explained: &[],
        most: 3,
    };
    assert!(json::check(&output::logs::to_json(&told)).is_ok());
    let _ = (
        output::logs::to_markdown(&told),
        output::logs::causes(&told, true),
        logs::table(&summary, 3).to_string(),
    );
}

pub(crate) fn certificate(data: &[u8]) {
    let _ = x509::Certificate::from_der(data);
    let _ = x509::from_pem(data);
}

pub(crate) fn redact(data: &[u8]) {
    for id in [
        "k8s/secrets.json",
        "k8s/a.yaml",
        "proxies/a/b/config_dump.json",
        "logs/a/b/c.log",
    ] {
        let id = DocId::new(id);
        let mut once = data.to_vec();
        snapshot::redact(&id, &mut once);
        assert!(once.len() <= data.len(), "redaction never grows a document");
        let mut twice = once.clone();
        snapshot::redact(&id, &mut twice);
        assert_eq!(once, twice, "redacting again changes nothing");
    }
}

/// Objects in a file: no rule breaks, and every place that a finding names is in the file.
pub(crate) fn analyze(data: &[u8]) {
    let mut builder = snapshot::Builder::new();
    builder.add(DocId::new("k8s/a.yaml"), "a.yaml", data.to_vec());
    let snapshot = builder.finish();
    let mesh = Mesh::of_files(&snapshot, &MeshOverrides::default());
    let report = ladder::analyze(&snapshot, &mesh, &ladder::Analysis::default());
    for told in &report.findings {
        assert!(
            !matches!(
                told.finding.subject,
                meshladder_judge::finding::Subject::Rule(_)
            ),
            "{}",
            told.finding.message
        );
        for (evidence, shown) in told.finding.evidence.iter().zip(&told.shown) {
            let leads = !matches!(evidence.spot, Spot::Pointer(_)) || shown.region.is_some();
            assert!(leads, "{}: {evidence:?} leads nowhere", told.finding.code);
        }
    }
    let sarif = output::analysis::to_sarif(&report, &BTreeMap::new());
    assert!(json::check(&sarif).is_ok(), "{sarif}");
    assert!(json::check(&output::report::to_json(&report)).is_ok());
    let _ = output::analysis::to_frames(&report, output::paint::Paint::default());
}
