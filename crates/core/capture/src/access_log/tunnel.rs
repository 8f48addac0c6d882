//! ztunnel's lines as records: a connection, which the error ends where there is one.

use std::borrow::Cow;

use super::field::LogField;
use super::record::AccessRecord;
use crate::ztunnel::log::ZtunnelLine;

/// The scope that ztunnel writes connections in, as text and as JSON.
const SCOPES: [&str; 2] = ["access", "\"scope\":\"access\""];

/// A line of ztunnel's about a connection that has ended.
pub(super) fn read(line: &str) -> Option<AccessRecord<'_>> {
    if !SCOPES.iter().any(|scope| line.contains(scope)) {
        return None;
    }
    let told = ZtunnelLine::parse(line).filter(|told| told.message != "connection opened")?;
    let mut record = AccessRecord::of(line);
    let mut set = |field, text: String| {
        if !text.is_empty() {
            record.set(field, Cow::Owned(text));
        }
    };
    set(LogField::Start, told.time);
    set(LogField::Termination, told.error);
    set(LogField::Authority, told.service.clone());
    set(LogField::Cluster, told.service);
    set(LogField::UpstreamHost, told.destination.address);
    set(LogField::Local, told.hbone_address);
    set(LogField::Remote, told.source.address);
    set(LogField::Sent, told.bytes_sent);
    set(LogField::Received, told.bytes_received);
    set(
        LogField::Duration,
        told.duration.trim_end_matches("ms").to_owned(),
    );
    for (name, value) in [
        ("direction", told.direction),
        (
            "src.workload",
            named(&told.source.namespace, &told.source.workload),
        ),
        ("src.identity", told.source.identity),
        (
            "dst.workload",
            named(&told.destination.namespace, &told.destination.workload),
        ),
        ("dst.identity", told.destination.identity),
    ] {
        if !value.is_empty() {
            record.others.push((Cow::Borrowed(name), Cow::Owned(value)));
        }
    }
    Some(record)
}

/// `namespace/pod`
fn named(namespace: &str, pod: &str) -> String {
    if pod.is_empty() {
        return String::new();
    }
    format!("{namespace}/{pod}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_ztunnel_refused_ends_with_its_error() {
        let line = "2026-11-16T00:39:40.406489Z\terror\taccess\tconnection complete\tsrc.addr=10.244.1.125:35616 src.workload=\"legacy-client-1\" src.namespace=\"legacy\" dst.addr=10.244.2.185:8080 dst.service=\"frontend.shop.svc.cluster.local\" direction=\"inbound\" bytes_sent=0 bytes_recv=0 duration=\"7ms\" error=\"no healthy upstream: 10.96.3.3:80\"";
        let record = read(line).expect("a connection");
        assert!(record.is_connection());
        assert_eq!(
            record.get(LogField::Termination),
            "no healthy upstream: 10.96.3.3:80"
        );
        assert_eq!(record.number(LogField::Duration), Some(7));
        assert_eq!(record.get(LogField::Remote), "10.244.1.125:35616");
        assert!(
            record
                .others
                .contains(&("src.workload".into(), "legacy/legacy-client-1".into()))
        );
        assert!(read("2026-11-16T00:39:40Z\tinfo\txds\tStream established").is_none());
    }
}
