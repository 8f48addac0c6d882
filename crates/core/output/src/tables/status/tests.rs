use super::*;
use meshladder_capture::istiod::syncz;

const SYNCZ: &str = r#"[
 {"proxy":"b.shop","cluster_id":"K","istio_version":"1.30","resources":{
   "type.googleapis.com/envoy.config.cluster.v3.Cluster":{"sent":"2","acked":"1","sentTime":"2026-11-15T06:00:00Z"},
   "type.googleapis.com/envoy.config.listener.v3.Listener":{"sent":"1","acked":"1","sentTime":"2026-11-15T06:00:00Z"},
   "type.googleapis.com/envoy.config.route.v3.RouteConfiguration":{},
   "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret":{"sent":"1","lastError":"bad"}}},
 {"proxy":"a.tools","cluster_id":"K","istio_version":"1.30"}]"#;

fn rows(istiod: &str) -> Vec<ProxyStatusRow<'static>> {
    let (connections, _) = syncz::read(SYNCZ).expect("syncz");
    connections
        .into_iter()
        .map(|connection| ProxyStatusRow {
            istiod: istiod.to_owned(),
            revision: "default".to_owned(),
            connection,
        })
        .collect()
}

#[test]
fn the_default_table_says_synced_stale_not_sent_and_ignored() {
    let table = table(
        &select(rows("istiod-1"), None),
        Time::parse("2026-11-15T06:02:05Z"),
        false,
    );
    let cells: Vec<Vec<_>> = table
        .rows()
        .map(|row| row.iter().map(|c| &**c).collect())
        .collect();
    assert_eq!(
        cells,
        [
            vec![
                "a.tools", "K", "IGNORED", "IGNORED", "IGNORED", "IGNORED", "IGNORED", "istiod-1",
                "1.30", "0"
            ],
            vec![
                "b.shop",
                "K",
                "STALE (2m5s)",
                "SYNCED",
                "IGNORED",
                "NOT SENT",
                "ERROR",
                "istiod-1",
                "1.30",
                "4 (CDS,LDS,RDS,SDS)"
            ],
        ]
    );
    assert!(table.to_string().starts_with("NAME"));
}

#[test]
fn every_istiods_rows_are_merged_and_a_namespace_narrows_them() {
    let both: Vec<_> = rows("istiod-2")
        .into_iter()
        .chain(rows("istiod-1"))
        .collect();
    let shown = select(both, Some("shop"));
    let istiods: Vec<_> = shown
        .iter()
        .map(|r| (&*r.connection.proxy, &*r.istiod))
        .collect();
    assert_eq!(istiods, [("b.shop", "istiod-1"), ("b.shop", "istiod-2")]);
}

#[test]
fn istioctls_verbose_table_orders_types_by_url_and_shows_ages() {
    let text = verbose_table(
        &select(rows("i"), None),
        Time::parse("2026-11-15T06:00:01Z"),
    )
    .to_string();
    let header: Vec<_> = text
        .lines()
        .next()
        .expect("a header")
        .split_whitespace()
        .collect();
    assert_eq!(
        header,
        [
            "NAME", "CLUSTER", "CDS", "ECDS", "EDS", "LDS", "RDS", "SDS", "ISTIOD", "VERSION"
        ]
    );
    assert!(text.contains("SYNCED (1s)"), "{text}");
}
