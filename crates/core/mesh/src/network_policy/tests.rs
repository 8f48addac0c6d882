use super::*;
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Builder, DocId};

/// Namespace `hidden` has pods, and its own object is not here.
const BASE: &str = r"
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {kubernetes.io/metadata.name: shop, team: blue}}
---
apiVersion: v1
kind: Namespace
metadata: {name: tools, labels: {kubernetes.io/metadata.name: tools, team: red}}
---
apiVersion: v1
kind: Namespace
metadata: {name: istio-system, labels: {kubernetes.io/metadata.name: istio-system}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web, pod-template-hash: x}, annotations: {istio.io/rev: default}}
spec: {containers: [{name: app, ports: [{name: http, containerPort: 8080}, {name: dns, containerPort: 5353, protocol: UDP}]}]}
status: {phase: Running, podIP: 10.0.1.1, hostIP: 192.168.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop, labels: {app: db}}
spec: {containers: [{name: app}]}
status: {phase: Running, podIP: 10.0.1.2, hostIP: 192.168.0.2}
---
apiVersion: v1
kind: Pod
metadata: {name: curl, namespace: tools, labels: {app: curl}}
status: {phase: Running, podIP: 10.0.2.1, hostIP: 192.168.0.2}
---
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: tools, labels: {app: agent}}
spec: {hostNetwork: true}
status: {phase: Running, podIP: 192.168.0.2, hostIP: 192.168.0.2}
---
apiVersion: v1
kind: Pod
metadata: {name: cat, namespace: hidden, labels: {app: cat}}
status: {phase: Running, podIP: 10.0.3.1, hostIP: 192.168.0.2}
---
apiVersion: v1
kind: Pod
metadata: {name: istiod, namespace: istio-system, labels: {app: istiod, istio.io/rev: default}}
status: {phase: Running, podIP: 10.0.4.1, hostIP: 192.168.0.2}
---
apiVersion: v1
kind: Pod
metadata: {name: istiod-canary, namespace: istio-system, labels: {app: istiod, istio.io/rev: canary}}
status: {phase: Running, podIP: 10.0.4.2, hostIP: 192.168.0.2}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.1, selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Service
metadata: {name: written, namespace: shop}
spec: {clusterIP: 10.96.0.2, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: written-1, namespace: shop, labels: {kubernetes.io/service-name: written}}
endpoints: [{addresses: [203.0.113.9]}, {addresses: [10.96.0.2]}]
";

/// The base with policies, each given as `namespace spec`, named `p0`, `p1`, …
fn mesh(policies: &[&str]) -> Mesh {
    let mut builder = Builder::new();
    builder.add(DocId::new("k8s/base.yaml"), "base.yaml", BASE.into());
    for (i, policy) in policies.iter().enumerate() {
        let (namespace, spec) = policy.split_once(' ').expect("a namespace and a spec");
        let head = format!("metadata: {{name: p{i}, namespace: {namespace}}}");
        let text = format!(
            "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n{head}\nspec: {spec}\n"
        );
        builder.add(
            DocId::new(format!("k8s/{i}.yaml")),
            "policy.yaml",
            text.into(),
        );
    }
    let mesh = Mesh::build(&builder.finish());
    assert_eq!(mesh.problems, []);
    mesh
}

fn end<'m>(mesh: &'m Mesh, name: &'m str) -> End<'m> {
    match name.split_once('/') {
        Some((namespace, name)) => {
            End::Pod(mesh.objects.get(Kind::Pod, namespace, name).expect("a pod"))
        }
        None => name.parse().map_or(End::Unknown(name), End::Address),
    }
}

fn say(passage: &Passage<'_>) -> String {
    match passage {
        Passage::Allowed(_) => "allowed".to_owned(),
        Passage::Blocked(ends) => ends
            .iter()
            .map(|end| end.direction.field())
            .collect::<Vec<_>>()
            .join(" "),
        Passage::Unknown(fact, _) => format!("unknown: {fact}"),
    }
}

/// `from to port protocol`
fn ask<'m>(mesh: &'m Mesh, call: &'m str) -> Passage<'m> {
    let parts: Vec<_> = call.split(' ').collect();
    let port = parts[2].parse().expect("a port");
    mesh.connection(end(mesh, parts[0]), end(mesh, parts[1]), port, parts[3])
}

fn check(cases: &[(&[&str], &str, &str)]) {
    for (policies, call, expected) in cases {
        assert_eq!(
            say(&ask(&mesh(policies), call)),
            *expected,
            "{call} under {policies:?}"
        );
    }
}

#[test]
fn a_pod_is_isolated_only_by_a_policy_that_selects_it_in_that_direction() {
    check(&[
        (&[], "tools/curl shop/web 80 TCP", "allowed"),
        (
            &["shop {podSelector: {}}"],
            "tools/curl shop/web 80 TCP",
            "ingress",
        ),
        (
            &["shop {podSelector: {}}"],
            "shop/web tools/curl 80 TCP",
            "allowed",
        ),
        (&["shop {}"], "tools/curl shop/web 80 TCP", "ingress"),
        (
            &["shop {podSelector: {matchLabels: {app: db}}}"],
            "tools/curl shop/web 80 TCP",
            "allowed",
        ),
        (
            &["tools {podSelector: {}}"],
            "tools/curl shop/web 80 TCP",
            "allowed",
        ),
        (
            &["shop {podSelector: {}, policyTypes: [Egress]}"],
            "tools/curl shop/web 80 TCP",
            "allowed",
        ),
        (
            &["shop {podSelector: {}, policyTypes: [Egress]}"],
            "shop/web tools/curl 80 TCP",
            "egress",
        ),
        (
            &["shop {podSelector: {}, policyTypes: [Egress, Ingress]}"],
            "shop/web shop/db 80 TCP",
            "egress ingress",
        ),
        // Without types, rules for egress make the policy one for egress too; an empty list is no
        // rule.
        (
            &["shop {podSelector: {}, egress: []}"],
            "shop/web tools/curl 80 TCP",
            "allowed",
        ),
        (
            &["shop {podSelector: {}, egress: [{ports: [{port: 53}]}]}"],
            "shop/web tools/curl 80 TCP",
            "egress",
        ),
        (
            &["shop {podSelector: {}, egress: [{ports: [{port: 53}]}]}"],
            "tools/curl shop/web 80 TCP",
            "ingress",
        ),
        (
            &["shop {podSelector: {}, ingress: []}"],
            "tools/curl shop/web 80 TCP",
            "ingress",
        ),
        (
            &["shop {podSelector: {}, ingress: [{}]}"],
            "tools/curl shop/web 80 TCP",
            "allowed",
        ),
        (
            &["shop {podSelector: {}, ingress: [{from: []}]}"],
            "tools/curl shop/web 80 TCP",
            "allowed",
        ),
        // Types that leave a direction out switch off its rules.
        (
            &["shop {policyTypes: [Ingress], ingress: [{}], egress: [{ports: [{port: 1}]}]}"],
            "shop/web shop/db 80 TCP",
            "allowed",
        ),
    ]);
}

#[test]
fn policies_add_up() {
    let deny = "shop {podSelector: {}}";
    let allow = "shop {podSelector: {matchLabels: {app: web}}, ingress: [{from: [{namespaceSelector: {}}]}]}";
    check(&[
        (&[deny, allow], "tools/curl shop/web 80 TCP", "allowed"),
        (&[allow, deny], "tools/curl shop/web 80 TCP", "allowed"),
        (&[deny, allow], "tools/curl shop/db 80 TCP", "ingress"),
    ]);
}

#[test]
fn peers_mean_what_kubernetes_says() {
    fn from(peer: &str, call: &str, expected: &str) {
        let policy = format!(
            "shop {{podSelector: {{matchLabels: {{app: web}}}}, ingress: [{{from: {peer}}}]}}"
        );
        check(&[(&[&policy], call, expected)]);
    }
    let (curl, db, agent) = (
        "tools/curl shop/web 80 TCP",
        "shop/db shop/web 80 TCP",
        "tools/agent shop/web 80 TCP",
    );
    from("[{podSelector: {}}]", db, "allowed");
    from("[{podSelector: {}}]", curl, "ingress");
    from(
        "[{podSelector: {matchLabels: {app: curl}}}]",
        curl,
        "ingress",
    );
    from("[{namespaceSelector: {}}]", curl, "allowed");
    from(
        "[{namespaceSelector: {matchLabels: {team: red}}}]",
        curl,
        "allowed",
    );
    from(
        "[{namespaceSelector: {matchLabels: {team: red}}}]",
        db,
        "ingress",
    );
    // Both in one peer is "and", in two is "or".
    from(
        "[{namespaceSelector: {matchLabels: {team: red}}, podSelector: {matchLabels: {app: db}}}]",
        curl,
        "ingress",
    );
    from(
        "[{namespaceSelector: {matchLabels: {team: red}}}, {podSelector: {matchLabels: {app: db}}}]",
        curl,
        "allowed",
    );
    from(
        "[{namespaceSelector: {matchLabels: {team: red}}}, {podSelector: {matchLabels: {app: db}}}]",
        db,
        "allowed",
    );
    from(
        "[{namespaceSelector: null, podSelector: {}}]",
        db,
        "allowed",
    );
    from("[{}]", curl, "ingress");
    from(
        "[{ipBlock: {cidr: 203.0.113.0/24}}]",
        "203.0.113.7 shop/web 80 TCP",
        "allowed",
    );
    from(
        "[{ipBlock: {cidr: 203.0.113.0/24}}]",
        "203.0.114.7 shop/web 80 TCP",
        "ingress",
    );
    from(
        "[{ipBlock: {cidr: 203.0.113.0/24, except: [203.0.113.0/28]}}]",
        "203.0.113.7 shop/web 80 TCP",
        "ingress",
    );
    from(
        "[{ipBlock: {cidr: 203.0.113.0/24, except: [203.0.113.0/28]}}]",
        "203.0.113.77 shop/web 80 TCP",
        "allowed",
    );
    from(
        "[{ipBlock: {cidr: 0.0.0.0/0}}]",
        "fd00::1 shop/web 80 TCP",
        "ingress",
    );
    from(
        "[{ipBlock: {cidr: '::/0'}}]",
        "fd00::1 shop/web 80 TCP",
        "allowed",
    );
    from(
        "[{namespaceSelector: {}}]",
        "203.0.113.7 shop/web 80 TCP",
        "ingress",
    );
    // An address that is a pod's is the pod.
    from(
        "[{namespaceSelector: {matchLabels: {team: red}}}]",
        "10.0.2.1 shop/web 80 TCP",
        "allowed",
    );
    // A pod on the host network is known by its address; by its labels only to some plugins.
    from("[{ipBlock: {cidr: 192.168.0.0/24}}]", agent, "allowed");
    from("[{podSelector: {}}]", agent, "ingress");
    from(
        "[{namespaceSelector: {}}]",
        agent,
        "unknown: whether the network plugin knows Pod tools/agent by its labels",
    );
}

#[test]
fn what_is_not_known_is_said_only_where_it_matters() {
    let unlabelled = "unknown: the labels of namespace hidden";
    let by_team = "shop {ingress: [{from: [{namespaceSelector: {matchLabels: {team: red}}}]}]}";
    let by_name = "shop {ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: hidden}}}]}]}";
    let other_name = "shop {ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: b}}}]}]}";
    let other_pod = "shop {ingress: [{from: [{namespaceSelector: {matchLabels: {team: red}}, podSelector: {matchLabels: {app: b}}}]}]}";
    let other_port = "shop {ingress: [{from: [{namespaceSelector: {matchLabels: {team: red}}}], ports: [{port: 1}]}]}";
    let range = "shop {ingress: [{from: [{ipBlock: {cidr: 172.16.0.0/16}}]}]}";
    let everyone = "shop {ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}]}]}";
    check(&[
        (&[by_team], "hidden/cat shop/web 80 TCP", unlabelled),
        (&[by_name], "hidden/cat shop/web 80 TCP", "allowed"),
        (&[other_name], "hidden/cat shop/web 80 TCP", "ingress"),
        (&[other_pod], "hidden/cat shop/web 80 TCP", "ingress"),
        (&[other_port], "hidden/cat shop/web 80 TCP", "ingress"),
        (&[by_team, by_name], "hidden/cat shop/web 80 TCP", "allowed"),
        (
            &[range],
            "api-server shop/web 80 TCP",
            "unknown: the address of api-server",
        ),
        (
            &[by_team],
            "api-server shop/web 80 TCP",
            "unknown: the labels of api-server",
        ),
        (&[everyone], "api-server shop/web 80 TCP", "allowed"),
        (&["shop {}"], "api-server shop/web 80 TCP", "ingress"),
    ]);
}

#[test]
fn ports_are_numbers_ranges_or_names_of_the_server() {
    for (ports, port, expected) in [
        ("[{port: 8080}]", "8080 TCP", "allowed"),
        ("[{port: 8080}]", "8080 UDP", "ingress"),
        ("[{port: 8080, protocol: UDP}]", "8080 UDP", "allowed"),
        ("[{port: 8080, protocol: UDP}]", "8080 TCP", "ingress"),
        ("[{protocol: UDP}]", "1 UDP", "allowed"),
        ("[{protocol: UDP}]", "1 TCP", "ingress"),
        ("[{}]", "1 TCP", "allowed"),
        ("[]", "1 SCTP", "allowed"),
        ("[{port: 8000, endPort: 8100}]", "8000 TCP", "allowed"),
        ("[{port: 8000, endPort: 8100}]", "8100 TCP", "allowed"),
        ("[{port: 8000, endPort: 8100}]", "8101 TCP", "ingress"),
        ("[{port: http}]", "8080 TCP", "allowed"),
        ("[{port: http}]", "80 TCP", "ingress"),
        ("[{port: dns}]", "5353 TCP", "ingress"),
        ("[{port: dns, protocol: UDP}]", "5353 UDP", "allowed"),
        ("[{port: 1}, {port: http}]", "8080 TCP", "allowed"),
    ] {
        let policy = format!(
            "shop {{podSelector: {{matchLabels: {{app: web}}}}, ingress: [{{ports: {ports}}}]}}"
        );
        check(&[(&[&policy], &format!("tools/curl shop/web {port}"), expected)]);
    }
    // A client's rule names the server's port too; what is no pod has no names.
    let named = "tools {podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: http}]}]}";
    check(&[
        (&[named], "tools/curl shop/web 8080 TCP", "allowed"),
        (&[named], "tools/curl shop/db 8080 TCP", "egress"),
        (&[named], "tools/curl 203.0.113.7 8080 TCP", "egress"),
    ]);
}

#[test]
fn a_service_is_judged_by_the_pods_and_ports_behind_it() {
    let web = "tools {policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}, podSelector: {matchLabels: {app: web}}}], ports: [{port: 8080}]}]}";
    let service_address =
        "tools {policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.96.0.1/32}}]}]}";
    let outside = "tools {policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8]}}]}]}";
    check(&[
        (&[web], "tools/curl 10.96.0.1 80 TCP", "allowed"),
        (&[web], "tools/curl shop/web 80 TCP", "egress"),
        (&[service_address], "tools/curl 10.96.0.1 80 TCP", "egress"),
        (
            &[web],
            "tools/curl 10.96.0.1 81 TCP",
            "unknown: the pods behind Service shop/web",
        ),
        (&[outside], "tools/curl 10.96.0.2 80 TCP", "egress"),
    ]);
}

#[test]
fn a_pod_s_own_node_and_the_host_network_are_beyond_policies() {
    let deny = "shop {policyTypes: [Ingress, Egress]}";
    check(&[
        (&[deny], "shop/web shop/web 80 TCP", "allowed"),
        (&[deny], "192.168.0.1 shop/web 80 TCP", "allowed"),
        (&[deny], "192.168.0.2 shop/web 80 TCP", "ingress"),
        (&[deny], "tools/agent shop/db 80 TCP", "allowed"),
        (&[deny], "tools/agent shop/web 80 TCP", "ingress"),
        (
            &["tools {policyTypes: [Egress]}"],
            "tools/agent shop/web 80 TCP",
            "unknown: whether the network plugin applies policies to Pod tools/agent, which is on the host network",
        ),
        (
            &["tools {policyTypes: [Egress], egress: [{}]}"],
            "tools/agent shop/web 80 TCP",
            "allowed",
        ),
    ]);
}

/// The story of many an incident: DNS and the own mesh are allowed, istiod is forgotten.
const FORGOTTEN: &str = "shop {podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 53, protocol: UDP}, {port: 53}]}, {to: [{namespaceSelector: {matchLabels: {team: blue}}}]}]}";

#[test]
fn the_nearest_rule_is_named_with_the_field_that_fails() {
    for (policies, call, pointer, what) in [
        (
            &[FORGOTTEN][..],
            "shop/web istio-system/istiod 15012 TCP",
            "/spec/egress/1/to/0/namespaceSelector/matchLabels/team",
            "namespace istio-system has no label team=blue",
        ),
        (
            &[
                "shop {ingress: [{from: [{namespaceSelector: {}}], ports: [{port: 1}, {port: 5, endPort: 9, protocol: UDP}]}]}",
            ],
            "tools/curl shop/web 80 TCP",
            "/spec/ingress/0/ports",
            "TCP 80 is not among TCP 1, UDP 5-9",
        ),
        (
            &["shop {ingress: [{from: [{podSelector: {}}]}]}"],
            "tools/curl shop/web 80 TCP",
            "/spec/ingress/0/from/0",
            "Pod tools/curl is in namespace tools, and the peer means pods of shop only",
        ),
        (
            &[
                "shop {ingress: [{from: [{podSelector: {}}, {namespaceSelector: {}, podSelector: {matchLabels: {app: x}}}]}]}",
            ],
            "tools/curl shop/web 80 TCP",
            "/spec/ingress/0/from/1/podSelector/matchLabels/app",
            "Pod tools/curl has label app=curl, not x",
        ),
        (
            &["shop {ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.2.0/24]}}]}]}"],
            "tools/curl shop/web 80 TCP",
            "/spec/ingress/0/from/0/ipBlock/except/0",
            "10.0.2.1 is in the exception 10.0.2.0/24",
        ),
        (
            &["shop {ingress: [{from: [{ipBlock: {cidr: 10.1.0.0/16}}]}]}"],
            "tools/curl shop/web 80 TCP",
            "/spec/ingress/0/from/0/ipBlock/cidr",
            "10.0.2.1 is not in 10.1.0.0/16",
        ),
        // The rule that names the peer and lacks the port is nearer than one that lets everyone to
        // another port.
        (
            &[
                "shop {ingress: [{ports: [{port: 1}]}]}",
                "shop {ingress: [{from: [{namespaceSelector: {matchLabels: {team: red}}}], ports: [{port: 2}]}]}",
            ],
            "tools/curl shop/web 80 TCP",
            "/spec/ingress/0/ports",
            "TCP 80 is not among TCP 2",
        ),
    ] {
        let mesh = mesh(policies);
        let Passage::Blocked(ends) = ask(&mesh, call) else {
            panic!("{call} passes")
        };
        let near = ends[0].nearest.as_ref().expect("there is a rule");
        let place = near.policy.pointer_of(near.field);
        assert_eq!(
            (place.strip_prefix(&*near.policy.pointer), &*near.what),
            (Some(pointer), what),
            "{call}"
        );
        assert_eq!(ends[0].policies.len(), policies.len());
    }
    let mesh = mesh(&["shop {}"]);
    let Passage::Blocked(ends) = ask(&mesh, "tools/curl shop/web 80 TCP") else {
        panic!("it passes")
    };
    assert!(ends[0].nearest.is_none() && ends[0].opening.policy.id.name == "p0");
}

#[test]
fn the_rule_that_is_offered_opens_the_way() {
    for (policy, call, rule) in [
        (
            FORGOTTEN,
            "shop/web istio-system/istiod 15012 TCP",
            "to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: istio-system}}, podSelector: {matchLabels: {app: istiod}}}], ports: [{port: 15012, protocol: TCP}]",
        ),
        (
            "shop {}",
            "shop/db shop/web 80 TCP",
            "from: [{podSelector: {matchLabels: {app: db}}}], ports: [{port: 80, protocol: TCP}]",
        ),
        (
            "shop {}",
            "203.0.113.7 shop/web 80 UDP",
            "from: [{ipBlock: {cidr: 203.0.113.7/32}}], ports: [{port: 80, protocol: UDP}]",
        ),
        (
            "shop {}",
            "tools/agent shop/web 80 TCP",
            "from: [{ipBlock: {cidr: 192.168.0.2/32}}], ports: [{port: 80, protocol: TCP}]",
        ),
        (
            "shop {}",
            "api-server shop/web 80 TCP",
            "ports: [{port: 80, protocol: TCP}]",
        ),
    ] {
        let before = mesh(&[policy]);
        let Passage::Blocked(ends) = ask(&before, call) else {
            panic!("{call} passes")
        };
        let opening = &ends[0].opening;
        assert_eq!(flow(&opening.rule), format!("{{{rule}}}"), "{call}");
        // As a merge patch would leave it.
        let direction = opening.direction.field();
        let rules = opening.merge.at(["spec", direction]).expect("the rules");
        assert_eq!(
            rules.items().len(),
            opening.policy.spec_list(direction).len() + 1
        );
        let kind = if direction == "egress" {
            "Egress"
        } else {
            "Ingress"
        };
        let after = mesh(&[&format!(
            "shop {{policyTypes: [{kind}], {direction}: {}}}",
            flow(rules)
        )]);
        assert_eq!(say(&ask(&after, call)), "allowed", "{call}");
    }
}

fn flow(node: &Node) -> String {
    match &node.value {
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|m| format!("{}: {}", m.key, flow(&m.value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(flow).collect::<Vec<_>>().join(", ")
        ),
        Value::String(text) | Value::Number(text) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_proxy_s_lifelines_are_asked_one_by_one() {
    let mesh = mesh(&[FORGOTTEN]);
    let web = mesh
        .objects
        .get(Kind::Pod, "shop", "web")
        .expect("it is there");
    let said = |reaches: Vec<Reach<'_>>| -> Vec<String> {
        let one = |reach: &Reach<'_>| {
            let to = match reach.to {
                End::Pod(pod) => pod.id.name.to_string(),
                End::Address(address) => address.to_string(),
                End::Unknown(what) => what.to_owned(),
            };
            format!(
                "{to} {} {}: {}",
                reach.protocol,
                reach.port,
                say(&reach.passage)
            )
        };
        reaches.iter().map(one).collect()
    };
    assert_eq!(
        said(mesh.reach_istiod(web, XDS)),
        ["istiod TCP 15012: egress"]
    );
    let dns = [
        "the cluster's DNS UDP 53: allowed",
        "the cluster's DNS TCP 53: allowed",
    ];
    assert_eq!(said(mesh.reach_dns(web)), dns);
    let webhooks = [
        "istiod TCP 15017: allowed",
        "istiod-canary TCP 15017: allowed",
    ];
    assert_eq!(said(mesh.reach_webhooks(None)), webhooks);
    let curl = mesh
        .objects
        .get(Kind::Pod, "tools", "curl")
        .expect("it is there");
    assert_eq!(mesh.reach_istiod(curl, XDS_PLAINTEXT).len(), 2);
}
