"""Objects that a careless rule would hold each against each, for scripts/measure-analyze.py: all of one kind say the same."""

ISTIO = "networking.istio.io/v1"
SECURITY = "security.istio.io/v1"
GATEWAY_API = "gateway.networking.k8s.io/v1"


def thing(api, kind, name, spec, labels=None, namespace="shop"):
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def service(i, selector):
    return thing("v1", "Service", f"svc-{i}", {"selector": selector, "ports": [{"name": "http", "port": 80}]})


def pod(i):
    containers = [{"name": "istio-proxy", "image": "proxyv2:1"}]
    return thing("v1", "Pod", f"pod-{i}", {"containers": containers}, {"app": f"app-{i}", "tier": "back"})


def deployment(i):
    labels = {"app": f"app-{i}", "tier": "back"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "istio-proxy", "image": "proxyv2:1"}]}}
    return thing("apps/v1", "Deployment", f"app-{i}", {"selector": {"matchLabels": labels}, "template": template})


def route(host, **match):
    return [match | {"route": [{"destination": {"host": host}}]}]


def gateway(i, host, **tls):
    port = {"number": 443, "name": "https", "protocol": "HTTPS"} if tls else {"number": 80, "name": "http", "protocol": "HTTP"}
    server = {"port": port, "hosts": [host]} | ({"tls": tls} if tls else {})
    return thing(ISTIO, "Gateway", f"gw-{i}", {"selector": {"istio": "ingressgateway"}, "servers": [server]})


def virtual_service(i, **spec):
    return thing(ISTIO, "VirtualService", f"vs-{i}", spec)


def prefixes(count):
    return [route("svc-0", match=[{"uri": {"prefix": f"/p-{i}"}}])[0] for i in range(count)]


CASES = {
    "one-host": lambda n: [service(0, {"app": "a"})]
    + [virtual_service(i, hosts=["svc-0"], http=route("svc-0")) for i in range(n)],
    "one-gateway": lambda n: [service(0, {"app": "a"}), gateway(0, "a.test")]
    + [virtual_service(i, hosts=["a.test"], gateways=["gw-0"], http=route("svc-0")) for i in range(n)],
    "many-routes": lambda n: [service(0, {"app": "a"}), virtual_service(0, hosts=["svc-0"], http=prefixes(n))],
    "rules-of-host": lambda n: [service(0, {"app": "a"})]
    + [thing(ISTIO, "DestinationRule", f"dr-{i}", {"host": "svc-0", "subsets": [{"name": "v1"}]}) for i in range(n)],
    "subsets": lambda n: [
        one
        for i in range(n)
        for one in (
            service(i, {"tier": "back"}),
            pod(i),
            deployment(i),
            thing(ISTIO, "DestinationRule", f"dr-{i}", {"host": f"svc-{i}", "subsets": [{"name": "v9", "labels": {"version": "v9"}}]}),
        )
    ],
    "sidecars": lambda n: [pod(0)]
    + [thing(ISTIO, "Sidecar", f"sc-{i}", {"egress": [{"hosts": ["./*", "nowhere/*"]}]}) for i in range(n)],
    "entries": lambda n: [
        thing(
            ISTIO,
            "ServiceEntry",
            f"se-{i}",
            {"hosts": ["e.test"], "ports": [{"number": 80, "name": "x", "protocol": "HTTP" if i % 2 else "TCP"}], "resolution": "DNS"},
        )
        for i in range(n)
    ],
    "principals": lambda n: [pod(0)]
    + [
        thing(
            SECURITY,
            "AuthorizationPolicy",
            f"ap-{i}",
            {"rules": [{"from": [{"source": {"principals": [f"cluster.local/ns/a/sa/s{i}"]}}], "to": [{"operation": {"hosts": [f"h{i}"]}}]}]},
        )
        for i in range(n)
    ],
    "certificate": lambda n: [gateway(i, f"a{i}.test", mode="SIMPLE", credentialName="c") for i in range(n)],
    "http-routes": lambda n: [
        thing(GATEWAY_API, "Gateway", "gw", {"gatewayClassName": "istio", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]})
    ]
    + [
        thing(
            GATEWAY_API,
            "HTTPRoute",
            f"r-{i}",
            {"parentRefs": [{"name": "gw"}], "hostnames": ["a.test"], "rules": [{"backendRefs": [{"name": f"x{i}", "port": 80}]}]},
        )
        for i in range(n)
    ],
    "invalid": lambda n: [virtual_service(i, hostz=["a"], http=[{"rout": 3, "timeout": "1"}]) for i in range(n)],
}
