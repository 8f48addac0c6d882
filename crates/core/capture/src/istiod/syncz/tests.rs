use super::*;

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

fn only(doc: &str) -> XdsConnection<'_> {
    let (mut connections, fault) = read(doc).expect("an answer of syncz");
    assert!(fault.is_none() && connections.len() == 1);
    connections.remove(0)
}

#[test]
fn the_words_follow_istiods_order() {
    for (watch, sync) in [
        (r#"{"sent":"1","acked":"1"}"#, SyncStatus::Synced),
        (r#"{"sent":"2","acked":"1"}"#, SyncStatus::Stale),
        (r#"{"sent":"2"}"#, SyncStatus::Stale),
        ("{}", SyncStatus::NotSent),
        (
            r#"{"sent":"1","acked":"1","lastError":"no"}"#,
            SyncStatus::Error,
        ),
        (r#"{"lastError":"no"}"#, SyncStatus::Error),
    ] {
        let doc = format!(r#"[{{"proxy":"a.shop","resources":{{"{CDS}":{watch}}}}}]"#);
        assert_eq!(only(&doc).types[CDS].sync(), sync, "{watch}");
    }
}

#[test]
fn an_old_istiod_tells_by_its_own_fields() {
    let doc = r#"[{"proxy":"a.shop","cluster_sent":"1","cluster_acked":"1","route_sent":"2","route_acked":"1","listener_sent":""}]"#;
    let words: Vec<_> = only(doc)
        .types
        .iter()
        .map(|(url, w)| (short_type(url).to_owned(), w.sync()))
        .collect();
    assert_eq!(
        words,
        [
            ("CDS".to_owned(), SyncStatus::Synced),
            ("RDS".to_owned(), SyncStatus::Stale)
        ]
    );
}

#[test]
fn an_istiod_that_serves_nobody_is_no_error_and_anything_else_is() {
    assert!(read("null").is_ok_and(|(c, _)| c.is_empty()));
    assert!(read("[]\n").is_ok_and(|(c, _)| c.is_empty()));
    assert!(read("{}").is_err() && read("").is_err());
    let (connections, fault) =
        read(r#"[{"proxy":"a.b"},{"proxy":"c"#).expect("the start of an answer");
    assert_eq!((connections.len(), fault.is_some()), (1, true));
}
