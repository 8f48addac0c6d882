//! The objects of the mesh.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::control_plane;
use crate::mesh::{PORTS, Service, Services, TEAMS};
use crate::pods::{self, Pod};

const CREATED: &str = "2026-10-01T08:00:00Z";

pub(crate) fn write(out: &Path, services: usize) -> io::Result<()> {
    let of = Services {
        count: services,
        team: None,
    };
    let teams = || (0..TEAMS).map(|team| format!("team-{team:02}"));
    list(
        out,
        "namespaces",
        teams()
            .map(|name| namespace(&name))
            .chain([control_plane::namespace()]),
    )?;
    list(
        out,
        "pods",
        pods::all(services)
            .iter()
            .map(pod)
            .chain([control_plane::pod()]),
    )?;
    list(
        out,
        "services",
        of.iter()
            .map(|s| service(&s))
            .chain([control_plane::service()]),
    )?;
    list(
        out,
        "deployments.apps",
        of.iter()
            .map(|s| deployment(&s))
            .chain([control_plane::deployment()]),
    )?;
    list(
        out,
        "endpointslices.discovery.k8s.io",
        of.iter().map(|s| slice(&s)).chain([control_plane::slice()]),
    )?;
    list(out, "configmaps", [config()].into_iter())?;
    let routed = of.iter().filter(Service::has_virtual_service);
    list(
        out,
        "virtualservices.networking.istio.io",
        routed.map(|s| virtual_service(&s)),
    )?;
    let split = of.iter().filter(Service::has_subsets);
    list(
        out,
        "destinationrules.networking.istio.io",
        split.map(|s| destination_rule(&s)),
    )?;
    list(
        out,
        "sidecars.networking.istio.io",
        teams().map(|name| sidecar(&name)),
    )?;
    let guarded = of.iter().step_by(20);
    list(
        out,
        "authorizationpolicies.security.istio.io",
        guarded.map(|s| policy(&s)),
    )?;
    list(
        out,
        "peerauthentications.security.istio.io",
        [strict()].into_iter(),
    )?;
    let webhooks = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
    list(out, webhooks, [control_plane::injector()].into_iter())?;
    for kind in [
        "gateways.networking.istio.io",
        "serviceentries.networking.istio.io",
        "envoyfilters.networking.istio.io",
        "workloadentries.networking.istio.io",
        "requestauthentications.security.istio.io",
        "networkpolicies.networking.k8s.io",
        "telemetries.telemetry.istio.io",
        "wasmplugins.extensions.istio.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    ] {
        list(out, kind, std::iter::empty())?;
    }
    Ok(())
}

fn list(out: &Path, kind: &str, items: impl Iterator<Item = Value>) -> io::Result<()> {
    let mut file = BufWriter::new(std::fs::File::create(out.join(format!("k8s/{kind}.json")))?);
    write!(file, r#"{{"apiVersion":"v1","kind":"List","items":["#)?;
    for (at, item) in items.enumerate() {
        if at > 0 {
            file.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut file, &item)?;
    }
    file.write_all(b"]}\n")?;
    file.flush()
}

fn object(version: &str, kind: &str, namespace: &str, name: &str, spec: &Value) -> Value {
    let metadata = json!({"name": name, "namespace": namespace, "creationTimestamp": CREATED});
    json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
}

fn namespace(name: &str) -> Value {
    let labels = json!({"istio-injection": "enabled", "kubernetes.io/metadata.name": name});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

fn pod(pod: &Pod) -> Value {
    let Pod {
        name,
        namespace,
        service,
        ip,
        hash,
        ..
    } = pod;
    let labels = json!({
        "app": service, "version": "v1", "pod-template-hash": hash, "security.istio.io/tlsMode": "istio",
        "service.istio.io/canonical-name": service, "service.istio.io/canonical-revision": "v1"
    });
    let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{service}-{hash}"), "controller": true});
    let ports: Vec<Value> = PORTS
        .iter()
        .map(|p| json!({"containerPort": number(p.number())}))
        .collect();
    let proxy = json!({
        "name": "istio-proxy", "image": "istio/proxyv2:1.30.0", "restartPolicy": "Always",
        "args": ["proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local"],
        "ports": [{"containerPort": 15090, "name": "http-envoy-prom"}],
        "env": [{"name": "ISTIO_META_CLUSTER_ID", "value": "Kubernetes"}, {"name": "ISTIO_META_MESH_ID", "value": "cluster.local"}]
    });
    let ready = |name: &str| json!({"name": name, "ready": true, "started": true, "restartCount": 0, "state": {"running": {"startedAt": CREATED}}});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": namespace, "labels": labels, "ownerReferences": [owner], "creationTimestamp": CREATED,
            "annotations": {"sidecar.istio.io/status": "{\"initContainers\":[\"istio-init\",\"istio-proxy\"],\"containers\":null,\"revision\":\"default\"}"}
        },
        "spec": {
            "serviceAccountName": service, "nodeName": "node-1",
            "containers": [{"name": "app", "image": "app:1", "ports": ports}],
            "initContainers": [{"name": "istio-init", "image": "istio/proxyv2:1.30.0", "args": ["istio-iptables", "-p", "15001", "-z", "15006", "-u", "1337"]}, proxy]
        },
        "status": {
            "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}],
            "containerStatuses": [ready("app")], "initContainerStatuses": [ready("istio-init"), ready("istio-proxy")]
        }
    })
}

fn number(port: &str) -> u16 {
    port.parse().expect("ports are numbers")
}

fn service(service: &Service) -> Value {
    let names = ["tcp", "http", "grpc"];
    let port = |(p, name): (&crate::mesh::Port, &str)| json!({"port": number(p.number()), "name": name, "protocol": "TCP", "targetPort": number(p.number())});
    let ports: Vec<Value> = PORTS.iter().zip(names).map(port).collect();
    let spec = json!({"type": "ClusterIP", "clusterIP": service.ip, "clusterIPs": [service.ip], "selector": {"app": service.name}, "ports": ports});
    object("v1", "Service", &service.namespace, &service.name, &spec)
}

fn deployment(service: &Service) -> Value {
    let replicas = service.pod_ips().count();
    let labels = json!({"app": service.name, "version": "v1"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    let spec =
        json!({"replicas": replicas, "selector": {"matchLabels": labels}, "template": template});
    let mut object = object(
        "apps/v1",
        "Deployment",
        &service.namespace,
        &service.name,
        &spec,
    );
    object["status"] =
        json!({"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas});
    object
}

fn slice(service: &Service) -> Value {
    let endpoint = |pod: &Pod| {
        let target = json!({"kind": "Pod", "name": pod.name, "namespace": pod.namespace});
        json!({"addresses": [pod.ip], "conditions": {"ready": true, "serving": true, "terminating": false}, "targetRef": target, "nodeName": "node-1"})
    };
    let endpoints: Vec<Value> = pods::of(service).iter().map(endpoint).collect();
    let names = ["tcp", "http", "grpc"];
    let ports: Vec<Value> = PORTS
        .iter()
        .zip(names)
        .map(|(p, name)| json!({"name": name, "port": number(p.number()), "protocol": "TCP"}))
        .collect();
    let mut object = object(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        &service.namespace,
        &format!("{}-abcde", service.name),
        &Value::Null,
    );
    object["metadata"]["labels"] = json!({"kubernetes.io/service-name": service.name});
    object["addressType"] = json!("IPv4");
    object["endpoints"] = Value::Array(endpoints);
    object["ports"] = Value::Array(ports);
    object
}

/// The routes that the dumps have.
fn virtual_service(service: &Service) -> Value {
    let to = |subset: &str| {
        let mut destination = json!({"host": service.host});
        if service.has_subsets() {
            destination["subset"] = json!(subset);
        }
        json!([{"destination": destination}])
    };
    let canary = json!([{"uri": {"prefix": "/api"}, "headers": {"x-canary": {"exact": "true"}}}]);
    let items = json!([{"uri": {"regex": "/v[0-9]+/items/.*"}}]);
    let spec = json!({"hosts": [service.host], "http": [
        {"name": "canary", "match": canary, "route": to("v2"), "timeout": "10s"},
        {"name": "items", "match": items, "route": to("v1"), "timeout": "10s"},
        {"name": "rest", "route": to("v1")}
    ]});
    object(
        "networking.istio.io/v1",
        "VirtualService",
        &service.namespace,
        &service.name,
        &spec,
    )
}

fn destination_rule(service: &Service) -> Value {
    let subsets = json!([{"name": "v1", "labels": {"version": "v1"}}, {"name": "v2", "labels": {"app": service.name}}]);
    object(
        "networking.istio.io/v1",
        "DestinationRule",
        &service.namespace,
        &service.name,
        &json!({"host": service.host, "subsets": subsets}),
    )
}

fn sidecar(namespace: &str) -> Value {
    let egress = json!([{"hosts": ["./*", "istio-system/*"]}]);
    object(
        "networking.istio.io/v1",
        "Sidecar",
        namespace,
        "default",
        &json!({"egress": egress}),
    )
}

fn policy(service: &Service) -> Value {
    let from = json!([{"source": {"namespaces": [service.namespace]}}]);
    let spec = json!({"selector": {"matchLabels": {"app": service.name}}, "action": "ALLOW", "rules": [{"from": from}]});
    object(
        "security.istio.io/v1",
        "AuthorizationPolicy",
        &service.namespace,
        &service.name,
        &spec,
    )
}

fn strict() -> Value {
    object(
        "security.istio.io/v1",
        "PeerAuthentication",
        "istio-system",
        "default",
        &json!({"mtls": {"mode": "STRICT"}}),
    )
}

fn config() -> Value {
    let metadata = json!({"name": "istio", "namespace": "istio-system"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"mesh": "rootNamespace: istio-system\ntrustDomain: cluster.local\n"}})
}
