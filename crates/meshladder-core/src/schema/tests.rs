use std::fmt::Write;

use super::describe::{Message, Type};
use super::*;
use crate::doc::tree::{Node, Value};
use crate::doc::yaml;
use crate::mesh::{ObjectRef, Stored};
use crate::snapshot::{Builder, DocId};

fn mesh_of(yaml: &str) -> Mesh {
    let mut builder = Builder::new();
    builder.add(DocId::new("k8s/a.yaml"), "a.yaml", yaml.into());
    Mesh::build(&builder.finish())
}

/// The faults of one object: its kind and `spec`.
fn of(kind: &str, spec: &str) -> Vec<(Flaw, String)> {
    let known = KINDS.iter().find(|known| known.kind == kind).expect("a kind");
    let indented = spec.lines().fold(String::new(), |mut text, line| {
        writeln!(text, "  {line}").expect("a String takes all text");
        text
    });
    let (group, version) = (known.group, known.versions[0]);
    let yaml = format!(
        "apiVersion: {group}/{version}\nkind: {kind}\nmetadata: {{name: a, namespace: shop}}\nspec:\n{indented}"
    );
    let mesh = mesh_of(&yaml);
    faults(&mesh.objects).into_iter().map(|fault| (fault.flaw, fault.place)).collect()
}

fn messages(message: &'static Message, seen: &mut Vec<&'static Message>) {
    if seen.iter().any(|known| std::ptr::eq(*known, message)) {
        return;
    }
    seen.push(message);
    for field in message.fields {
        let mut of = &field.of;
        while let Type::List(inner, ..) | Type::Map(_, inner) = of {
            of = inner;
        }
        if let Type::Of(inner) = of {
            messages(inner, seen);
        }
    }
}

#[test]
fn fields_are_in_order_so_that_they_can_be_found() {
    let mut seen = Vec::new();
    for kind in KINDS {
        messages(kind.spec, &mut seen);
    }
    assert!(seen.len() > 100, "{} messages", seen.len());
    for message in seen {
        let names: Vec<&str> = message.fields.iter().map(|field| field.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{}: {names:?}", message.name);
        assert!(names.len() <= 64, "{}: a bit for each field", message.name);
        assert!(names.iter().all(|name| message.field(name).is_some_and(|field| field.name == *name)));
    }
}

#[test]
fn what_the_webhook_refuses_in_routes_is_found() {
    let route = "http:\n- route:\n  - destination: {host: a}\n";
    for (spec, flaw, place) in [
        ("hosts: [a]\n", Flaw::MissingField, "spec"),
        ("hosts: [a, a]\n", Flaw::Duplicate, "spec.hosts[1]"),
        ("hosts: ['*']\n", Flaw::InvalidHost, "spec.hosts[0]"),
        ("hosts: [a]\ngateways: [a/b/c]\n", Flaw::InvalidValue, "spec.gateways[0]"),
        ("hosts: [a]\ngateways: [edge.infra.svc.cluster.local]\n", Flaw::Deprecated, "spec.gateways[0]"),
        ("hosts: [a]\nexportTo: ['.', shop]\n", Flaw::Duplicate, "spec.exportTo[1]"),
        ("hosts: [a]\nexportTo: ['~']\n", Flaw::InvalidValue, "spec.exportTo[0]"),
        ("hosts: [a]\nexportTo: ['*', b]\n", Flaw::ExclusiveFields, "spec.exportTo[0]"),
        ("gateways: [edge]\n", Flaw::Misfit, "spec.gateways"),
    ] {
        let spec = if place == "spec" { spec.to_owned() } else { format!("{spec}{route}") };
        let found = of("VirtualService", &spec);
        assert!(found.contains(&(flaw, place.to_owned())), "{spec}: {found:?}");
    }
    for (rule, flaw, place) in [
        ("{}", Flaw::MissingField, ""),
        ("{redirect: {uri: /}, fault: {delay: {fixedDelay: 1s}}}", Flaw::ExclusiveFields, ".fault"),
        ("{redirect: {}}", Flaw::MissingField, ".redirect"),
        ("{redirect: {uri: /, redirectCode: 200}}", Flaw::InvalidValue, ".redirect.redirectCode"),
        ("{directResponse: {status: 99}}", Flaw::InvalidValue, ".directResponse.status"),
        ("{route: [{destination: {host: a}}], retries: {perTryTimeout: 1s}}", Flaw::Misfit, ".retries"),
        (
            "{route: [{destination: {host: a}}], retries: {attempts: 1, retryOn: 5xy}}",
            Flaw::InvalidValue,
            ".retries.retryOn",
        ),
        ("{route: [{destination: {host: a}}], fault: {}}", Flaw::MissingField, ".fault"),
        ("{route: [{destination: {host: a}}], fault: {abort: {}}}", Flaw::NoEffect, ".fault.abort"),
        ("{route: [{destination: {host: a}}], rewrite: {}}", Flaw::MissingField, ".rewrite"),
        (
            "{route: [{destination: {host: a}}], corsPolicy: {allowMethods: [get]}}",
            Flaw::InvalidValue,
            ".corsPolicy.allowMethods[0]",
        ),
        (
            "{route: [{destination: {host: a}}], match: [{uri: {exact: /, prefix: /}}]}",
            Flaw::ExclusiveFields,
            ".match[0].uri.prefix",
        ),
        (
            "{route: [{destination: {host: a}}], match: [{method: {prefix: ''}}]}",
            Flaw::InvalidValue,
            ".match[0].method.prefix",
        ),
        (
            "{route: [{destination: {host: a}}], match: [{headers: {'x y': {exact: a}}}]}",
            Flaw::InvalidValue,
            ".match[0].headers.x y",
        ),
        (
            "{route: [{destination: {host: a}}], match: [{headers: {'@request.auth.claims.g': {exact: a}}}]}",
            Flaw::Misfit,
            ".match[0].headers[\"@request.auth.claims.g\"]",
        ),
        (
            "{route: [{destination: {host: a}}], headers: {request: {set: {':path': a}}}}",
            Flaw::InvalidValue,
            ".headers.request.set.:path",
        ),
        (
            "{route: [{destination: {host: a}}], headers: {response: {add: {a: 'b%'}}}}",
            Flaw::InvalidValue,
            ".headers.response.add.a",
        ),
        (
            "{route: [{destination: {host: a}}], rewrite: {authority: b}, headers: {request: {set: {host: c}}}}",
            Flaw::ExclusiveFields,
            ".headers.request.set.host",
        ),
        (
            "{route: [{destination: {host: a}}], mirror: {host: b}, mirrors: [{destination: {host: b}}]}",
            Flaw::ExclusiveFields,
            ".mirrors",
        ),
        ("{route: [{destination: {host: a}, weight: -1}]}", Flaw::InvalidValue, ".route[0].weight"),
        ("{route: [{destination: {host: a, subset: a_b}}]}", Flaw::InvalidValue, ".route[0].destination.subset"),
        ("{route: [{destination: {host: '*'}}]}", Flaw::InvalidHost, ".route[0].destination.host"),
        (
            "{route: [{destination: {host: a, port: {number: 0}}}]}",
            Flaw::InvalidValue,
            ".route[0].destination.port.number",
        ),
        ("{route: [{destination: {host: a}}], delegate: {name: b}}", Flaw::ExclusiveFields, ".route"),
    ] {
        let found = of("VirtualService", &format!("hosts: [a]\nhttp:\n- {rule}\n"));
        assert_eq!(found, [(flaw, format!("spec.http[0]{place}"))], "{rule}");
    }
}

#[test]
fn what_the_webhook_refuses_in_other_kinds_is_found() {
    for (kind, spec, flaw, place) in [
        (
            "VirtualService",
            "hosts: [a.test]\ntls:\n- match: [{sniHosts: [b.test]}]\n  route: [{destination: {host: a}}]",
            Flaw::InvalidHost,
            "spec.tls[0].match[0].sniHosts[0]",
        ),
        ("DestinationRule", "host: a\ntrafficPolicy: {}", Flaw::MissingField, "spec.trafficPolicy"),
        (
            "DestinationRule",
            "host: a\ntrafficPolicy: {tls: {mode: MUTUAL}}",
            Flaw::MissingField,
            "spec.trafficPolicy.tls",
        ),
        (
            "DestinationRule",
            "host: a\ntrafficPolicy: {tls: {mode: SIMPLE, credentialName: a, caCertificates: b}}",
            Flaw::ExclusiveFields,
            "spec.trafficPolicy.tls.caCertificates",
        ),
        (
            "DestinationRule",
            "host: a\ntrafficPolicy: {outlierDetection: {consecutiveLocalOriginFailures: 3}}",
            Flaw::Misfit,
            "spec.trafficPolicy.outlierDetection.consecutiveLocalOriginFailures",
        ),
        (
            "DestinationRule",
            "host: a\ntrafficPolicy: {connectionPool: {tcp: {connectTimeout: 0s}}}",
            Flaw::InvalidValue,
            "spec.trafficPolicy.connectionPool.tcp.connectTimeout",
        ),
        (
            "DestinationRule",
            "host: a\ntrafficPolicy: {loadBalancer: {consistentHash: {maglev: {tableSize: 6}}}}",
            Flaw::InvalidValue,
            "spec.trafficPolicy.loadBalancer.consistentHash.maglev.tableSize",
        ),
        (
            "DestinationRule",
            "host: a\ntrafficPolicy: {loadBalancer: {localityLbSetting: {distribute: [{from: a, to: {b: 50, c: 40}}]}}}",
            Flaw::Misfit,
            "spec.trafficPolicy.loadBalancer.localityLbSetting.distribute[0].to",
        ),
        (
            "DestinationRule",
            "host: a\nexportTo: ['*']\nworkloadSelector: {matchLabels: {a: b}}",
            Flaw::Misfit,
            "spec.exportTo[0]",
        ),
        (
            "Gateway",
            "servers:\n- port: {number: 0, name: a, protocol: HTTP}\n  hosts: [a.test]",
            Flaw::InvalidValue,
            "spec.servers[0].port.number",
        ),
        (
            "Gateway",
            "servers:\n- port: {number: 80, name: a, protocol: HTTPX}\n  hosts: [a.test]",
            Flaw::InvalidValue,
            "spec.servers[0].port.protocol",
        ),
        (
            "Gateway",
            "servers:\n- port: {number: 80, name: a, protocol: HTTP}\n  hosts: [short]",
            Flaw::InvalidHost,
            "spec.servers[0].hosts[0]",
        ),
        (
            "Gateway",
            "servers:\n- port: {number: 80, name: a, protocol: HTTP}\n  hosts: [a.test]\n  tls: {mode: SIMPLE, credentialName: a}",
            Flaw::Misfit,
            "spec.servers[0].tls",
        ),
        (
            "Gateway",
            "servers:\n- port: {number: 443, name: a, protocol: HTTPS}\n  hosts: [a.test]\n  tls: {mode: SIMPLE}",
            Flaw::MissingField,
            "spec.servers[0].tls",
        ),
        (
            "Gateway",
            "servers:\n- port: {number: 443, name: a, protocol: TLS}\n  hosts: [a.test]\n  tls: {mode: PASSTHROUGH, credentialName: a}",
            Flaw::NoEffect,
            "spec.servers[0].tls.credentialName",
        ),
        ("ServiceEntry", "hosts: ['*']", Flaw::InvalidHost, "spec.hosts[0]"),
        ("ServiceEntry", "hosts: ['*.test']\nresolution: DNS", Flaw::Misfit, "spec.hosts[0]"),
        (
            "ServiceEntry",
            "hosts: [a.test]\naddresses: [10.0.0.0/8]\nresolution: DNS",
            Flaw::Misfit,
            "spec.addresses[0]",
        ),
        (
            "ServiceEntry",
            "hosts: [a.test]\nresolution: STATIC\nendpoints: [{address: b.test}]",
            Flaw::Misfit,
            "spec.endpoints[0].address",
        ),
        (
            "ServiceEntry",
            "hosts: [a.test]\nports: [{number: 1, name: a}, {number: 1, name: b}]",
            Flaw::Duplicate,
            "spec.ports[1].number",
        ),
        (
            "ServiceEntry",
            "hosts: [a.test]\nresolution: STATIC\nports: [{number: 1, name: a}]\nendpoints: [{address: 10.0.0.1, ports: {b: 1}}]",
            Flaw::Misfit,
            "spec.endpoints[0].ports.b",
        ),
        ("WorkloadEntry", "ports: {a: 1}", Flaw::MissingField, "spec"),
        ("WorkloadEntry", "address: unix://a", Flaw::InvalidHost, "spec.address"),
        ("WorkloadGroup", "template: {}\nprobe: {}", Flaw::MissingField, "spec.probe"),
        ("Sidecar", "workloadSelector: {labels: {a: b}}", Flaw::MissingField, "spec"),
        ("Sidecar", "egress: [{hosts: ['./*']}, {hosts: ['*/*'], port: {number: 80}}]", Flaw::Misfit, "spec.egress[0]"),
        ("Sidecar", "egress: [{hosts: ['./*', ./a.test]}]", Flaw::NoEffect, "spec.egress[0].hosts[1]"),
        (
            "Sidecar",
            "ingress: [{port: {number: 80, protocol: HTTP}, defaultEndpoint: '10.0.0.1:80'}]",
            Flaw::InvalidValue,
            "spec.ingress[0].defaultEndpoint",
        ),
        (
            "EnvoyFilter",
            "configPatches: [{applyTo: CLUSTER, patch: {operation: ADD}}]",
            Flaw::MissingField,
            "spec.configPatches[0].patch",
        ),
        (
            "EnvoyFilter",
            "configPatches: [{applyTo: CLUSTER, match: {proxy: {proxyVersion: '('}}, patch: {operation: REMOVE}}]",
            Flaw::InvalidRegex,
            "spec.configPatches[0].match.proxy.proxyVersion",
        ),
        ("ProxyConfig", "concurrency: -1", Flaw::InvalidValue, "spec.concurrency"),
        ("AuthorizationPolicy", "action: DENY", Flaw::MissingField, "spec"),
        ("AuthorizationPolicy", "rules: [{from: [{source: {}}]}]", Flaw::MissingField, "spec.rules[0].from[0].source"),
        ("AuthorizationPolicy", "rules: [{to: []}]", Flaw::MissingField, "spec.rules[0].to"),
        (
            "AuthorizationPolicy",
            "rules: [{to: [{operation: {ports: ['http']}}]}]",
            Flaw::InvalidValue,
            "spec.rules[0].to[0].operation.ports[0]",
        ),
        (
            "AuthorizationPolicy",
            "rules: [{to: [{operation: {paths: ['/{*}/{a}']}}]}]",
            Flaw::InvalidValue,
            "spec.rules[0].to[0].operation.paths[0]",
        ),
        (
            "AuthorizationPolicy",
            "rules: [{when: [{key: source.pod, values: [a]}]}]",
            Flaw::InvalidValue,
            "spec.rules[0].when[0].key",
        ),
        (
            "AuthorizationPolicy",
            "rules: [{when: [{key: 'request.headers', values: [a]}]}]",
            Flaw::InvalidValue,
            "spec.rules[0].when[0].key",
        ),
        ("AuthorizationPolicy", "action: CUSTOM\nrules: [{}]", Flaw::MissingField, "spec"),
        ("AuthorizationPolicy", "provider: {name: a}\nrules: [{}]", Flaw::Misfit, "spec.provider"),
        (
            "AuthorizationPolicy",
            "selector: {matchLabels: {a: b}}\ntargetRefs: [{kind: Service, name: a}]",
            Flaw::ExclusiveFields,
            "spec.targetRefs",
        ),
        ("AuthorizationPolicy", "targetRefs: [{kind: Pod, name: a}]", Flaw::InvalidValue, "spec.targetRefs[0].kind"),
        (
            "PeerAuthentication",
            "selector: {matchLabels: {a: b}}\nportLevelMtls: {0: {mode: STRICT}}",
            Flaw::InvalidValue,
            "spec.portLevelMtls.0",
        ),
        ("RequestAuthentication", "jwtRules: [{jwks: '{}', issuer: a}]", Flaw::InvalidValue, "spec.jwtRules[0].jwks"),
        (
            "RequestAuthentication",
            "jwtRules: [{jwksUri: 'ftp://a', issuer: a}]",
            Flaw::InvalidValue,
            "spec.jwtRules[0].jwksUri",
        ),
        ("RequestAuthentication", "jwtRules: [{jwksUri: 'https://a'}]", Flaw::MissingField, "spec.jwtRules[0]"),
        (
            "Telemetry",
            "tracing: [{randomSamplingPercentage: 101}]",
            Flaw::InvalidValue,
            "spec.tracing[0].randomSamplingPercentage",
        ),
        (
            "Telemetry",
            "metrics: [{overrides: [{tagOverrides: {a: {operation: UPSERT}}}]}]",
            Flaw::MissingField,
            "spec.metrics[0].overrides[0].tagOverrides.a",
        ),
        ("WasmPlugin", "url: ftp://a/b", Flaw::InvalidValue, "spec.url"),
        ("WasmPlugin", "url: oci://a/b\nsha256: abc", Flaw::InvalidValue, "spec.sha256"),
        ("TrafficExtension", "phase: AUTHN", Flaw::MissingField, "spec"),
        ("HTTPRoute", "rules: [{filters: [{type: URLRewrite}]}]", Flaw::MissingField, "spec.rules[0].filters[0]"),
        (
            "HTTPRoute",
            "rules: [{matches: [{path: {value: a}}]}]",
            Flaw::InvalidValue,
            "spec.rules[0].matches[0].path.value",
        ),
        ("HTTPRoute", "rules: [{timeouts: {request: 1.5s}}]", Flaw::InvalidValue, "spec.rules[0].timeouts.request"),
        ("HTTPRoute", "hostnames: [A.test]", Flaw::InvalidHost, "spec.hostnames[0]"),
        ("GRPCRoute", "rules: [{backendRefs: [{name: a}]}]", Flaw::MissingField, "spec.rules[0].backendRefs[0]"),
        ("TLSRoute", "rules: []", Flaw::MissingField, "spec.rules"),
        (
            "ReferenceGrant",
            "from: [{group: '', kind: A}]\nto: [{group: '', kind: Secret}]",
            Flaw::MissingField,
            "spec.from[0]",
        ),
        (
            "BackendTLSPolicy",
            "targetRefs: [{group: '', kind: Service, name: a}]\nvalidation: {hostname: a.test}",
            Flaw::MissingField,
            "spec.validation",
        ),
    ] {
        assert_eq!(of(kind, spec), [(flaw, place.to_owned())], "{kind} {spec}");
    }
}

#[test]
fn an_object_of_a_version_that_is_not_served_is_told_and_still_looked_at() {
    let yaml =
        "apiVersion: networking.istio.io/v2\nkind: DestinationRule\nmetadata: {name: a, namespace: b}\nspec: {}\n";
    let found: Vec<_> = faults(&mesh_of(yaml).objects).into_iter().map(|fault| (fault.flaw, fault.place)).collect();
    assert_eq!(found, [(Flaw::InvalidValue, "apiVersion".to_owned()), (Flaw::MissingField, "spec".to_owned())]);
}

/// An object of each kind that says much, and nothing wrong.
const GOOD: &str = include_str!("good.yaml");

#[test]
fn what_is_right_is_quiet() {
    let mesh = mesh_of(GOOD);
    let found = faults(&mesh.objects);
    assert!(found.is_empty(), "{found:#?}");
    for kind in KINDS {
        assert!(mesh.objects.of(kind.kind, kind.group).next().is_some(), "an object of kind {}", kind.kind);
    }
}

/// Every value of the good objects is once replaced by each of these, taken out, or renamed.
#[test]
fn mutated_objects_are_survived_and_every_pointer_leads_somewhere() {
    let values = [
        "null",
        "true",
        "-1",
        "70000",
        "1e400",
        "\"\"",
        "\"*\"",
        "\"%\"",
        "[]",
        "{}",
        "[null]",
        "{\"a\": {}}",
        "\"é%(\"",
    ];
    let replacements: Vec<Node> =
        values.iter().map(|text| yaml::load(text).documents.into_iter().next().expect("a value")).collect();
    let mut tried = 0;
    for document in yaml::load(GOOD).documents {
        for at in 0..count(&document) {
            for change in 0..=replacements.len() + 1 {
                let mut mutated = document.clone();
                mutate(&mut mutated, &mut at.clone(), change, &replacements);
                judge(mutated);
                tried += 1;
            }
        }
    }
    assert!(tried > 5_000, "{tried} mutations");
}

fn judge(document: Node) {
    let text = |key: &str| document.str_at(key).unwrap_or_default().to_owned();
    let (kind, version) = (text("kind"), text("apiVersion"));
    let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
    let Some(known) = KINDS.iter().find(|known| known.kind == kind && known.group == group) else { return };
    let id = ObjectRef::new(&kind, "shop", "a");
    let object = Stored { doc: DocId::new("k8s/a.yaml"), pointer: String::new(), id, group, node: document };
    for fault in walk::faults(&object, known).into_iter().map(fault::Found::told) {
        assert!(object.node.pointer(&fault.pointer).is_some(), "{fault:?} in {}", object.node.to_json());
        assert!(!fault.what.is_empty() && !fault.what.ends_with('.'), "{fault:?}");
    }
}

fn count(node: &Node) -> usize {
    1 + node.items().iter().map(count).sum::<usize>() + node.members().iter().map(|m| count(&m.value)).sum::<usize>()
}

/// Changes the part at a position, counted from the root.
fn mutate(node: &mut Node, left: &mut usize, change: usize, replacements: &[Node]) {
    if *left == 0 {
        match (replacements.get(change), &mut node.value) {
            (Some(other), _) => node.value = other.value.clone(),
            (None, Value::Object(members)) if change == replacements.len() => drop(members.pop()),
            (None, Value::Object(members)) => {
                if let Some(member) = members.first_mut() {
                    member.key = format!("{}s", member.key).into();
                }
            }
            (None, Value::Array(items)) => drop(items.pop()),
            (None, _) => node.value = Value::Null,
        }
    }
    let Some(next) = left.checked_sub(1) else {
        *left = usize::MAX;
        return;
    };
    *left = next;
    let children: Vec<&mut Node> = match &mut node.value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(members) => members.iter_mut().map(|member| &mut member.value).collect(),
        _ => Vec::new(),
    };
    for child in children {
        if *left == usize::MAX {
            return;
        }
        mutate(child, left, change, replacements);
    }
}
