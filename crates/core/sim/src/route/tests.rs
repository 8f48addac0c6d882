use super::*;
use crate::request::tests::get as request;
use crate::state::MetadataEntry;

fn table(text: &str) -> RouteTable<'_> {
    RouteTable::compile(Raw::of(text).expect("JSON"), &Runtime::default())
}

/// What the table does, in a word: `host/route>cluster`, `301 location`, `404`, `? fact`.
fn outcome(routed: &RouteOutcome<'_, '_>) -> String {
    match routed {
        RouteOutcome::Route(RouteDecision {
            virtual_host,
            route,
            target,
            ..
        }) => {
            let target = match target {
                RouteTarget::Clusters(branches) => {
                    let one = |b: &RouteBranch<'_, '_>| format!(">{}*{}", b.cluster, b.weight);
                    branches.iter().map(one).collect::<String>()
                }
                RouteTarget::Redirect(code, location) => format!(" {code} {location}"),
                RouteTarget::DirectResponse(code, ..) => format!(" {code}"),
            };
            format!("{}/{}{target}", virtual_host.name, route.name)
        }
        RouteOutcome::RequireTls { location, .. } => format!("301 {location}"),
        RouteOutcome::NoRoute { virtual_host } => {
            format!("404 {}", virtual_host.map_or("", |host| &host.name))
        }
        RouteOutcome::Undecided { fact, .. } => format!("? {fact}"),
        RouteOutcome::Branches(branches) => {
            let one = |(share, routed): &(RequestShare, RouteOutcome<'_, '_>)| {
                format!("{}/{} {}", share.of, share.total, outcome(routed))
            };
            branches.iter().map(one).collect::<Vec<_>>().join("; ")
        }
    }
}

fn route(table: &RouteTable<'_>, request: &Request) -> String {
    outcome(&table.route(&RequestState::new(request), &mut DecisionRecord::dropping()))
}

#[test]
fn domains_are_looked_up_from_exact_to_star() {
    let hosts = [
        ("exact", "a.b.test"),
        ("suf", "*.b.test"),
        ("suf2", "*-z.b.test"),
        ("pre", "a.b.*"),
        ("pre2", "a.*"),
    ];
    let hosts: Vec<_> = hosts
        .iter()
        .chain(&[("port", "a.b.test:8080"), ("star", "*")])
        .collect();
    let hosts: Vec<_> = hosts
        .iter()
        .map(|(name, domain)| {
            format!(r#"{{"name": "{name}", "domains": ["{domain}"], "routes": [{{"match": {{"prefix": "/"}}, "route": {{"cluster": "c"}}}}]}}"#)
        })
        .collect();
    let text = format!(r#"{{"virtual_hosts": [{}]}}"#, hosts.join(","));
    let table = table(&text);
    // As observed in Envoy.
    for (host, expected) in [
        ("a.b.test", "exact"),
        ("A.B.TEST", "exact"),
        ("x.b.test", "suf"),
        (".b.test", "star"),
        ("q-z.b.test", "suf2"),
        ("a.b.other", "pre"),
        ("a.b.", "pre2"),
        ("a.q", "pre2"),
        ("a.b.test:8080", "port"),
        ("a.b.test:9090", "pre"),
        ("x.b.test:1", "star"),
        ("a.b.test.", "pre"),
    ] {
        assert_eq!(
            route(&table, &request(host, "/")),
            format!("{expected}/>c*1"),
            "{host}"
        );
    }
}

#[test]
fn an_unknown_route_ahead_of_the_winner_leaves_it_undecided() {
    let table = table(
        r#"{"virtual_hosts": [{"name": "v", "domains": ["*"], "routes": [
            {"name": "agent", "match": {"prefix": "/a", "headers": [{"name": "user-agent", "string_match": {"exact": "x"}}]}, "route": {"cluster": "c"}},
            {"name": "rest", "match": {"prefix": "/"}, "route": {"cluster": "d"}}
        ]}]}"#,
    );
    assert_eq!(
        route(&table, &request("a", "/a")),
        "? the header user-agent"
    );
    assert_eq!(route(&table, &request("a", "/b")), "v/rest>d*1");
    let mut record = DecisionRecord::keeping();
    let request = request("a", "/b");
    let routed = table.route(&RequestState::new(&request), &mut record);
    assert_eq!(outcome(&routed), "v/rest>d*1");
    let considered: Vec<_> = record
        .considered
        .iter()
        .map(|c| (c.what.to_string(), c.matched.word(), &*c.why))
        .collect();
    let expected = [
        ("virtual host v", "yes", "host `a` has its domain `*`"),
        (
            "route agent: prefix /a",
            "no",
            "path `/b` does not start with `/a`",
        ),
        ("route rest: prefix /", "yes", "path `/b` starts with `/`"),
    ];
    assert_eq!(
        considered,
        expected.map(|(what, word, why)| (what.to_owned(), word, why))
    );
}

#[test]
fn chance_gives_branches_and_the_same_number_decides_everywhere() {
    let fraction =
        |n: u8| format!(r#""runtime_fraction": {{"default_value": {{"numerator": {n}}}}}"#);
    let text = format!(
        r#"{{"virtual_hosts": [{{"name": "v", "domains": ["*"], "routes": [
            {{"name": "never", "match": {{"prefix": "/", {}}}, "route": {{"cluster": "c"}}}},
            {{"name": "few", "match": {{"prefix": "/", {}}}, "route": {{"cluster": "c"}}}},
            {{"name": "none", "match": {{"prefix": "/", {}}}, "route": {{"cluster": "c"}}}},
            {{"name": "rest", "match": {{"prefix": "/"}}, "route": {{"weighted_clusters": {{"clusters": [
                {{"name": "a", "weight": 5}}, {{"name": "b", "weight": 95}}]}}}}}}
        ]}}]}}"#,
        fraction(0),
        fraction(10),
        fraction(10)
    );
    assert_eq!(
        route(&table(&text), &request("a", "/")),
        "10/100 v/few>c*1; 90/100 v/rest>b*90"
    );
}

#[test]
fn weighted_clusters_follow_a_stated_number() {
    let table = table(
        r#"{"virtual_hosts": [{"name": "v", "domains": ["*"], "routes": [{"name": "w", "match": {"prefix": "/"}, "route": {"weighted_clusters":
            {"header_name": "X-N", "clusters": [{"name": "a", "weight": 1}, {"name": "b", "weight": 0}, {"name": "c", "weight": 3}]}}}]}]}"#,
    );
    let with = |values: &[&str]| {
        let mut request = request("a", "/");
        request.headers = values
            .iter()
            .map(|value| ("x-n".to_owned(), (*value).to_owned()))
            .collect();
        route(&table, &request)
    };
    assert_eq!(with(&["4"]), "v/w>a*1");
    assert_eq!(with(&["7"]), "v/w>c*1");
    for values in [&[][..], &["x"], &["1", "1"]] {
        assert_eq!(with(values), "v/w>a*1>c*3", "{values:?}");
    }
}

#[test]
fn redirects_change_only_what_they_name() {
    for (redirect, host, path, expected) in [
        (
            r#"{"https_redirect": true}"#,
            "a.test:80",
            "/x?q",
            "https://a.test/x?q",
        ),
        (
            r#"{"https_redirect": true}"#,
            "a.test:81",
            "/x",
            "https://a.test:81/x",
        ),
        (
            r#"{"port_redirect": 8443}"#,
            "[::1]:80",
            "/x",
            "http://[::1]:8443/x",
        ),
        (
            r#"{"path_redirect": "/new"}"#,
            "a.test:80",
            "/x?q",
            "http://a.test:80/new?q",
        ),
        (
            r#"{"path_redirect": "/new?r", "strip_query": true}"#,
            "a.test",
            "/x?q",
            "http://a.test/new?r",
        ),
        (
            r#"{"host_redirect": "b.test", "prefix_rewrite": "/y", "strip_query": true}"#,
            "a",
            "/xz?q",
            "http://b.test/yz",
        ),
        (
            r#"{"regex_rewrite": {"pattern": {"regex": "x+"}, "substitution": "y"}}"#,
            "a",
            "/xx?x",
            "http://a/y?x",
        ),
    ] {
        let text = format!(
            r#"{{"virtual_hosts": [{{"name": "v", "domains": ["*"], "routes": [{{"name": "r", "match": {{"prefix": "/x"}}, "redirect": {redirect}}}]}}]}}"#
        );
        assert_eq!(
            route(&table(&text), &request(host, path)),
            format!("v/r 301 {expected}"),
            "{redirect}"
        );
    }
}

#[test]
fn the_scopes_of_filter_configuration_start_with_the_most_specific() {
    let own = |name: &str| format!(r#""typed_per_filter_config": {{"{name}": {{}}}}"#);
    let text = format!(
        r#"{{{}, "virtual_hosts": [{{{}, "name": "v", "domains": ["*"], "routes": [{{{}, "match": {{"prefix": "/"}},
            "route": {{"weighted_clusters": {{"clusters": [{{{}, "name": "c", "weight": 1}}]}}}}}}]}}]}}"#,
        own("4"),
        own("3"),
        own("2"),
        own("1")
    );
    let table = table(&text);
    let request = request("a", "/");
    let RouteOutcome::Route(decision) = table.route(
        &RequestState::new(&request),
        &mut DecisionRecord::dropping(),
    ) else {
        panic!("there is a route")
    };
    let RouteTarget::Clusters(branches) = &decision.target else {
        panic!("it forwards")
    };
    let names: Vec<_> = decision
        .scopes(branches.first())
        .iter()
        .flat_map(FilterScope::filters)
        .collect();
    assert_eq!(names, ["1", "2", "3", "4"]);
    assert_eq!(decision.scopes(None).len(), 3);
}

#[test]
fn claims_route_once_a_filter_has_written_them() {
    let table = table(
        r#"{"virtual_hosts": [{"name": "v", "domains": ["*"], "routes": [
            {"name": "admin", "match": {"prefix": "/", "dynamic_metadata": [{"filter": "envoy.filters.http.jwt_authn",
                "path": [{"key": "payload"}, {"key": "group"}], "value": {"string_match": {"exact": "admin"}}}]}, "route": {"cluster": "c"}},
            {"name": "rest", "match": {"prefix": "/"}, "route": {"cluster": "d"}}
        ]}]}"#,
    );
    let request = request("a", "/");
    let mut state = RequestState::new(&request);
    assert_eq!(
        outcome(&table.route(&state, &mut DecisionRecord::dropping())),
        "v/rest>d*1"
    );
    let claims = vec![("group".to_owned(), "admin".to_owned())];
    state.metadata.set(
        "envoy.filters.http.jwt_authn",
        "payload",
        MetadataEntry::Claims(claims),
    );
    assert_eq!(
        outcome(&table.route(&state, &mut DecisionRecord::dropping())),
        "v/admin>c*1"
    );
    state.metadata.set(
        "envoy.filters.http.jwt_authn",
        "payload",
        MetadataEntry::Unknown("the token".into()),
    );
    assert_eq!(
        outcome(&table.route(&state, &mut DecisionRecord::dropping())),
        "? the token"
    );
}

#[test]
fn headers_are_changed_from_the_weighted_cluster_outwards() {
    let set = |value: &str| {
        format!(
            r#""request_headers_to_add": [{{"header": {{"key": "X-V", "value": "{value}"}}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}}]"#
        )
    };
    let text = |wins: bool| {
        format!(
            r#"{{"most_specific_header_mutations_wins": {wins}, {}, "virtual_hosts": [{{"name": "v", "domains": ["*"], {}, "routes": [
                {{"match": {{"prefix": "/"}}, {}, "request_headers_to_remove": ["x-gone"], "route": {{"weighted_clusters": {{"clusters": [
                    {{"name": "c", "weight": 1, {}}}]}}}}}}]}}]}}"#,
            set("table"),
            set("host"),
            set("route"),
            set("entry")
        )
    };
    // As observed in Envoy.
    for (wins, expected) in [(false, "table"), (true, "route")] {
        let text = text(wins);
        let table = table(&text);
        let mut request = request("a", "/");
        request.headers = vec![
            ("x-gone".to_owned(), "1".to_owned()),
            ("x-v".to_owned(), "mine".to_owned()),
        ];
        let mut state = RequestState::new(&request);
        let RouteOutcome::Route(decision) = table.route(&state, &mut DecisionRecord::dropping())
        else {
            panic!("there is a route")
        };
        let RouteTarget::Clusters(branches) = &decision.target else {
            panic!("it forwards")
        };
        assert_eq!(decision.change_headers(&branches[0], &mut state), []);
        assert_eq!(
            state.request.headers,
            [("x-v".to_owned(), expected.to_owned())]
        );
    }
}

#[test]
fn a_formatted_header_value_is_named_as_unknown() {
    let table = table(
        r#"{"virtual_hosts": [{"name": "v", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "c"},
            "request_headers_to_add": [{"header": {"key": "x-a", "value": "%REQ(x-b)%"}}, {"header": {"key": "x-b", "value": "5%%"}}]}]}]}"#,
    );
    let request = request("a", "/");
    let mut state = RequestState::new(&request);
    let RouteOutcome::Route(decision) = table.route(&state, &mut DecisionRecord::dropping()) else {
        panic!("there is a route")
    };
    let RouteTarget::Clusters(branches) = &decision.target else {
        panic!("it forwards")
    };
    let unknown = decision.change_headers(&branches[0], &mut state);
    assert_eq!(
        unknown,
        [(
            "x-a".into(),
            "the value `%REQ(x-b)%` of the header x-a".into()
        )]
    );
    assert_eq!(state.request.header("x-b"), ["5%"]);
}
