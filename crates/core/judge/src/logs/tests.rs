//! Judgements and causes, from lines as proxies write them.

use super::*;

const CLIENT: &str = r#""-" "curl" "ID" "cart.shop:8080" "10.0.0.9:8080" outbound|8080||cart.shop.svc.cluster.local 10.0.0.2:42 10.96.0.1:8080 10.0.0.2:58 - default"#;
const SERVER: &str = r#""-" "curl" "ID" "cart.shop:8080" "10.0.0.9:8080" inbound|8080|| 127.0.0.6:33 10.0.0.9:8080 10.0.0.2:42 outbound_.8080_._.cart.shop.svc.cluster.local default"#;

/// A line that started so many milliseconds after the others.
fn line(ms: u32, end: &str, tail: &str, id: &str) -> String {
    let tail = tail.replace("ID", id);
    format!("[2026-11-15T06:31:02.{ms:03}Z] \"GET /a HTTP/1.1\" {end} - \"-\" 0 95 3 - {tail}\n")
}

fn summary(lines: &[String]) -> LogSummary {
    summary_of(lines, &LineFilter::default())
}

fn summary_of(lines: &[String], filter: &LineFilter) -> LogSummary {
    let own = LogFormats::default();
    let mut collector = Collector::new(&own, filter);
    collector.chunk(Chunk {
        source: 0,
        first_line: 1,
        text: &lines.concat(),
    });
    collector.finish().summary()
}

fn of(end: &str, tail: &str) -> LineJudgement {
    summary(&[line(1, end, tail, "x")]).groups[0].judgement
}

#[test]
fn it_is_told_who_ended_a_request() {
    let grpc = |end| of(end, CLIENT);
    for (end, tail, by, side, class) in [
        (
            "503 - via_upstream",
            CLIENT,
            Responder::NextHop,
            LogSide::Client,
            AnswerClass::Failed,
        ),
        (
            "503 - via_upstream",
            SERVER,
            Responder::Application,
            LogSide::Server,
            AnswerClass::Failed,
        ),
        (
            "404 - via_upstream",
            SERVER,
            Responder::Application,
            LogSide::Server,
            AnswerClass::Refused,
        ),
        (
            "503 URX via_upstream",
            CLIENT,
            Responder::NextHop,
            LogSide::Client,
            AnswerClass::Failed,
        ),
        (
            "200 DI via_upstream",
            CLIENT,
            Responder::NextHop,
            LogSide::Client,
            AnswerClass::Fine,
        ),
        (
            "503 UC upstream_reset_before_response_started{connection_termination}",
            SERVER,
            Responder::ThisProxy,
            LogSide::Server,
            AnswerClass::Failed,
        ),
        (
            "200 UC upstream_reset_after_response_started{connection_termination}",
            SERVER,
            Responder::Application,
            LogSide::Server,
            AnswerClass::Failed,
        ),
        (
            "0 DC downstream_remote_disconnect",
            CLIENT,
            Responder::Client,
            LogSide::Client,
            AnswerClass::Left,
        ),
        (
            "0 DR http2.remote_reset",
            SERVER,
            Responder::Client,
            LogSide::Server,
            AnswerClass::Left,
        ),
        (
            "403 - rbac_access_denied_matched_policy[none]",
            SERVER,
            Responder::ThisProxy,
            LogSide::Server,
            AnswerClass::Failed,
        ),
        (
            "301 - direct_response",
            CLIENT,
            Responder::ThisProxy,
            LogSide::Client,
            AnswerClass::Fine,
        ),
        (
            "200 - via_upstream",
            CLIENT,
            Responder::NextHop,
            LogSide::Client,
            AnswerClass::Fine,
        ),
    ] {
        let found = of(end, tail);
        assert_eq!(
            (found.by, found.side, found.class, found.is_grpc),
            (by, side, class, false),
            "{end}"
        );
    }
    for end in [
        "200 UH no_healthy_upstream",
        "200 - rbac_access_denied_matched_policy[none]",
        "200 NR route_not_found",
    ] {
        assert_eq!(
            (grpc(end).class, grpc(end).is_grpc, grpc(end).by),
            (AnswerClass::Failed, true, Responder::ThisProxy),
            "{end}"
        );
    }
}

#[test]
fn connections_are_no_requests() {
    let tcp = |flags: &str| {
        let tail = r#""-" "-" "-" "-" "10.0.0.9:3306" outbound|3306||db.shop.svc.cluster.local 10.0.0.2:42 10.96.0.1:3306 10.0.0.2:58 - -"#;
        summary(&[line(1, &format!("0 {flags} -"), tail, "").replace("GET /a HTTP/1.1", "- - -")])
    };
    let (fine, failed) = (tcp("-"), tcp("UF,URX"));
    assert_eq!(
        (
            fine.stats.requests,
            fine.stats.connections,
            fine.groups[0].judgement.class
        ),
        (0, 1, AnswerClass::Fine)
    );
    assert_eq!(
        (failed.groups[0].judgement.by, failed.causes.len()),
        (Responder::ThisProxy, 1)
    );
    assert_eq!(failed.groups[0].flags, ["UF", "URX"]);
}

#[test]
fn the_server_s_line_explains_the_client_s() {
    let lines: Vec<String> = (0..4)
        .flat_map(|i| {
            let id = format!("id-{i}");
            [
                line(i * 10, "503 - via_upstream", CLIENT, &id),
                line(
                    i * 10 + 3,
                    "503 UC upstream_reset_before_response_started{connection_termination}",
                    SERVER,
                    &id,
                ),
            ]
        })
        .collect();
    let found = summary(&lines);
    assert_eq!((found.causes.len(), found.joined), (1, 4));
    let cause = &found.causes[0];
    assert_eq!(found.groups[cause.group].flags, ["UC"]);
    assert_eq!((cause.also.len(), cause.also[0].1), (1, 4));
    assert!(
        cause.says[0].contains("server's proxy answered itself"),
        "{:?}",
        cause.says
    );
}

#[test]
fn a_caller_that_timed_out_is_why_the_server_saw_it_leave() {
    let found = summary(&[
        line(1, "504 UT response_timeout", CLIENT, "x"),
        line(3, "0 DC downstream_remote_disconnect", SERVER, "x"),
    ]);
    assert_eq!(found.causes.len(), 1);
    assert!(
        found.causes[0]
            .says
            .iter()
            .any(|text| text.contains("behind the server's proxy")),
        "{:?}",
        found.causes[0]
    );
}

#[test]
fn a_refusal_by_the_server_s_proxy_explains_a_relayed_403() {
    let found = summary(&[
        line(1, "403 - via_upstream", CLIENT, "x"),
        line(
            3,
            "403 - rbac_access_denied_matched_policy[ns[shop]-policy[deny]-rule[0]]",
            SERVER,
            "x",
        ),
    ]);
    assert_eq!(found.causes.len(), 1);
    assert!(
        found.causes[0]
            .says
            .iter()
            .any(|text| text.contains("AuthorizationPolicy shop/deny, rule 0"))
    );
}

#[test]
fn plaintext_to_strict_is_told_by_the_listener_s_line() {
    let listener = r#"[2026-11-15T06:31:02.005Z] "- - -" 0 NR filter_chain_not_found - "-" 0 0 1 - "-" "-" "-" "-" "-" - - 10.0.0.9:8080 10.0.0.2:42 - -"#;
    let found = summary(&[
        line(
            1,
            "503 UC upstream_reset_before_response_started{connection_termination}",
            CLIENT,
            "x",
        ),
        format!("{listener}\n"),
    ]);
    let client = found
        .causes
        .iter()
        .find(|cause| found.groups[cause.group].has("UC"))
        .expect("a cause");
    assert!(
        client
            .says
            .iter()
            .any(|text| text.contains("no filter chain for 1 connections from 10.0.0.2")),
        "{client:?}"
    );
}

#[test]
fn counts_of_several_collectors_are_merged() {
    let lines: Vec<String> = (0..30)
        .map(|i| {
            let end = ["503 UF,URX a{b}", "503 URX,UF a{b}", "200 - via_upstream"]
                [usize::try_from(i).expect("small") % 3];
            line(i, end, CLIENT, &format!("id-{}", i / 2))
        })
        .collect();
    let text = format!(
        "{}[2026-11-15T06:31:02.005Z] \"GET / HTTP/1.1\" x\nother\n",
        lines.concat()
    );
    let (filter, own) = (LineFilter::default(), LogFormats::default());
    let whole = {
        let mut one = Collector::new(&own, &filter);
        one.chunk(Chunk {
            source: 0,
            first_line: 1,
            text: &text,
        });
        one.finish().summary()
    };
    let cut = text
        .match_indices('\n')
        .nth(12)
        .map(|(at, _)| at + 1)
        .expect("many lines");
    let parts = [(1, &text[..cut]), (14, &text[cut..])];
    let mut stats = Stats::default();
    for (first_line, text) in parts.into_iter().rev() {
        let mut one = Collector::new(&own, &filter);
        one.chunk(Chunk {
            source: 0,
            first_line,
            text,
        });
        stats.merge(one.finish());
    }
    let merged = stats.summary();
    let told = |summary: &LogSummary| {
        let groups: Vec<_> = summary
            .groups
            .iter()
            .map(|group| {
                (
                    group.code,
                    group.flags.clone(),
                    group.count,
                    group.between,
                    group.examples.clone(),
                )
            })
            .collect();
        (
            groups,
            summary.joined,
            summary.stats.malformed_examples.clone(),
            summary.stats.other,
            summary.stats.requests,
        )
    };
    assert_eq!(told(&merged), told(&whole));
    assert_eq!(
        (
            whole.groups[0].count,
            whole.stats.malformed,
            whole.stats.other
        ),
        (20, 1, 1)
    );
    assert_eq!(whole.stats.malformed_examples[0].number, 31);
}

#[test]
fn filters_hold_one_by_one_and_against() {
    let lines = [
        line(1, "503 UH no_healthy_upstream", CLIENT, "a"),
        line(900, "200 - via_upstream", SERVER, "b"),
        line(950, "404 - via_upstream", SERVER, "c"),
    ];
    let terms = |change: fn(&mut Terms)| {
        let mut terms = Terms::default();
        change(&mut terms);
        terms
    };
    let count = |filter: LineFilter| summary_of(&lines, &filter).stats.requests;
    for (change, yes) in [
        ((|t| t.flags = vec!["uh".into()]) as fn(&mut Terms), 1),
        (|t| t.flags = vec!["-".into()], 2),
        (|t| t.clusters = vec!["cart.shop".into()], 1),
        (
            |t| {
                t.codes = vec![
                    Codes::parse("4xx").expect("codes"),
                    Codes::parse("503").expect("codes"),
                ];
            },
            2,
        ),
        (|t| t.paths = vec!["/a".into()], 3),
        (|t| t.methods = vec!["POST".into()], 0),
        (|t| t.upstreams = vec!["10.0.0.9".into()], 3),
        (|t| t.request_ids = vec!["b".into()], 1),
        (|t| t.details = vec!["via".into()], 2),
        (|t| t.hosts = vec!["cart".into()], 3),
    ] {
        assert_eq!(
            count(LineFilter {
                wanted: terms(change),
                ..LineFilter::default()
            }),
            yes
        );
        assert_eq!(
            count(LineFilter {
                unwanted: terms(change),
                ..LineFilter::default()
            }),
            3 - yes
        );
    }
    let at = Time::parse("2026-11-15T06:31:02.900Z");
    assert_eq!(
        count(LineFilter {
            since: at,
            ..LineFilter::default()
        }),
        2
    );
    assert_eq!(
        count(LineFilter {
            until: at,
            ..LineFilter::default()
        }),
        1
    );
    assert_eq!(
        count(LineFilter {
            failed: true,
            ..LineFilter::default()
        }),
        1
    );
}

#[test]
fn times_of_the_same_second_are_read_like_any() {
    let mut clock = Clock::default();
    for text in [
        "2026-11-15T06:31:02.101Z",
        "2026-11-15T06:31:02.999Z",
        "2026-11-15T06:31:02.9Z",
        "2026-11-15T06:31:02Z",
        "2026-11-15T06:31:03.000+01:00",
        "2026-11-15T06:31:03.000Z",
        "",
        "2026-11-15T06:31:03.0x0Z",
        "2026-11-15T06:31:03.001Z",
    ] {
        assert_eq!(clock.read(text), Time::parse(text), "{text}");
    }
}
