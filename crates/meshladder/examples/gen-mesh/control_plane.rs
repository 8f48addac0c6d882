//! istiod and the webhook it serves: without them no mesh is healthy.

use serde_json::{Value, json};

const NAMESPACE: &str = "istio-system";
const POD: &str = "istiod-5d8f7c9b6d-00000";
const IP: &str = "10.244.0.2";

/// A self-signed certificate, as PEM in base64; nobody has its key.
const CA: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJoekNDQVMyZ0F3SUJBZ0lVZm1XcDIzZ3dsWFJzK2xqcU9IbXBjOEE0MVhZd0NnWUlLb1pJemowRUF3SXcKR0RFV01CUUdBMVVFQ2d3TlkyeDFjM1JsY2k1c2IyTmhiREFnRncweU5qRXhNVFV4TWpReU1qTmFHQTh5TVRJMgpNVEF5TWpFeU5ESXlNMW93R0RFV01CUUdBMVVFQ2d3TlkyeDFjM1JsY2k1c2IyTmhiREJaTUJNR0J5cUdTTTQ5CkFnRUdDQ3FHU000OUF3RUhBMElBQlBjcE4zTWlidWY3T0U2anZ6eUJiSDByQXNMMzFrRExFZEVVdzVLOGZ4ZysKMEN6alpBcGVlWTJzbktOZWsrTm51cndzRTRMUDhaMkFIcUhxSEJjRkxZaWpVekJSTUIwR0ExVWREZ1FXQkJTcQpraDk0cWR3NmFUV1lzdWw2VytLcmUwQkNRakFmQmdOVkhTTUVHREFXZ0JTcWtoOTRxZHc2YVRXWXN1bDZXK0tyCmUwQkNRakFQQmdOVkhSTUJBZjhFQlRBREFRSC9NQW9HQ0NxR1NNNDlCQU1DQTBnQU1FVUNJRno5OWJvRTlxS00KQ0QvTC8vNTJ5Zm9LRzF6TktBTW14UmIzOUI5SUlsempBaUVBelVJL05vRTQ0Tmt3M0xKaFJLb2NPT25wV3I2YwpCeFd2ckErVU85cmlRdFU9Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";

pub(crate) fn namespace() -> Value {
    let labels = json!({"kubernetes.io/metadata.name": NAMESPACE});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
}

pub(crate) fn pod() -> Value {
    let ready = json!({"name": "discovery", "ready": true, "started": true, "restartCount": 0, "state": {"running": {}}});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": POD, "namespace": NAMESPACE,
            "labels": {"app": "istiod", "istio.io/rev": "default", "pod-template-hash": "5d8f7c9b6d"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "istiod-5d8f7c9b6d", "controller": true}]
        },
        "spec": {"serviceAccountName": "istiod", "nodeName": "node-1", "containers": [{"name": "discovery", "image": "istio/pilot:1.30.0"}]},
        "status": {"phase": "Running", "podIP": IP, "podIPs": [{"ip": IP}], "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [ready]}
    })
}

pub(crate) fn service() -> Value {
    let ports = json!([{"name": "https-dns", "port": 15012, "protocol": "TCP", "targetPort": 15012}, {"name": "https-webhook", "port": 443, "protocol": "TCP", "targetPort": 15017}]);
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "istiod", "namespace": NAMESPACE, "labels": {"app": "istiod"}},
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.2", "clusterIPs": ["10.96.0.2"], "selector": {"app": "istiod"}, "ports": ports}
    })
}

pub(crate) fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "istiod", "namespace": NAMESPACE, "labels": {"app": "istiod", "istio.io/rev": "default"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "istiod"}}, "template": {"metadata": {"labels": {"app": "istiod", "istio.io/rev": "default"}}, "spec": {"containers": [{"name": "discovery", "image": "istio/pilot:1.30.0"}]}}},
        "status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    })
}

pub(crate) fn slice() -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "istiod-1", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": "istiod"}},
        "endpoints": [{"addresses": [IP], "conditions": {"ready": true, "serving": true}, "targetRef": {"kind": "Pod", "name": POD, "namespace": NAMESPACE}}],
        "ports": [{"name": "https-dns", "port": 15012, "protocol": "TCP"}, {"name": "https-webhook", "port": 15017, "protocol": "TCP"}]
    })
}

pub(crate) fn injector() -> Value {
    let webhook = json!({
        "name": "namespace.sidecar-injector.istio.io", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "sideEffects": "None",
        "clientConfig": {"service": {"name": "istiod", "namespace": NAMESPACE, "path": "/inject", "port": 443}, "caBundle": CA},
        "namespaceSelector": {"matchLabels": {"istio-injection": "enabled"}},
        "objectSelector": {"matchExpressions": [{"key": "sidecar.istio.io/inject", "operator": "NotIn", "values": ["false"]}]},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "istio-sidecar-injector", "labels": {"app": "sidecar-injector", "istio.io/rev": "default"}}, "webhooks": [webhook]
    })
}
