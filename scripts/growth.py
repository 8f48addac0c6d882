"""How the work of a command grows with its input, in instructions: for scripts/bench growth.

Each case is a mesh of n things that a careless rule would hold each against each. Every doubling of n may take at most
2.3 times the instructions, which valgrind counts; whatever else runs does not move them.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

from worst_cases import CASES as OBJECT_CASES
from worst_cases import ISTIO, gateway, route, thing, virtual_service

LIMIT = 2.3
KINDS = {
    "Pod": "pods",
    "Service": "services",
    "Namespace": "namespaces",
    "EndpointSlice": "endpointslices.discovery.k8s.io",
    "VirtualService": "virtualservices.networking.istio.io",
    "DestinationRule": "destinationrules.networking.istio.io",
    "Gateway": "gateways.networking.istio.io",
    "Sidecar": "sidecars.networking.istio.io",
    "ServiceEntry": "serviceentries.networking.istio.io",
    "AuthorizationPolicy": "authorizationpolicies.security.istio.io",
}


def pod(i, labels, proxy=True):
    containers = [{"name": "app", "image": "a", "ports": [{"containerPort": 8080}]}]
    containers += [{"name": "istio-proxy", "image": "proxyv2:1.27.0"}] if proxy else []
    made = thing("v1", "Pod", f"pod-{i}", {"serviceAccountName": "a", "containers": containers}, labels)
    address = f"10.{i // 65536}.{i // 256 % 256}.{i % 256}"
    ready = [{"type": "Ready", "status": "True"}]
    made["status"] = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": ready}
    return made


def service(i, selector):
    made = thing("v1", "Service", f"svc-{i}", {"selector": selector, "ports": [{"name": "http", "port": 8080}]})
    made["spec"]["clusterIP"] = f"10.128.{i // 256}.{i % 256}"
    return made


def namespace(name):
    made = thing("v1", "Namespace", name, {}, {"istio-injection": "enabled"})
    del made["metadata"]["namespace"]
    return made


def subset(i):
    return {"name": f"v{i}", "labels": {"version": f"v{i}"}}


def sidecar(i):
    selector = {"labels": {"app": f"app-{i}"}}
    return thing(ISTIO, "Sidecar", f"sc-{i}", {"workloadSelector": selector, "egress": [{"hosts": ["./*"]}]})


def app(i):
    return {"app": f"app-{i}"}


CASES = {
    "sidecars-and-pods": lambda n: [pod(i, app(i)) for i in range(n)] + [sidecar(i) for i in range(n)],
    "pods-without-proxy": lambda n: [service(0, {"tier": "x"})] + [pod(i, {"tier": "x"}, False) for i in range(n)],
    "one-host": lambda n: [service(0, app(0)), pod(0, app(0))]
    + [virtual_service(i, hosts=["svc-0"], http=route("svc-0")) for i in range(n)],
    "rules-of-host": lambda n: [service(0, app(0)), pod(0, app(0))]
    + [thing(ISTIO, "DestinationRule", f"dr-{i}", {"host": "svc-0", "subsets": [subset(i)]}) for i in range(n)],
    "services-of-pod": lambda n: [pod(0, app(0))] + [service(i, app(0)) for i in range(n)],
    "pods-of-service": lambda n: [service(0, app(0))] + [pod(i, app(0)) for i in range(n)],
    "subsets": lambda n: [service(0, app(0)), pod(0, app(0))]
    + [thing(ISTIO, "DestinationRule", "dr", {"host": "svc-0", "subsets": [subset(i) for i in range(n)]})],
    "gateways-and-virtual-services": lambda n: [service(0, app(0)), pod(0, {"istio": "ingressgateway"})]
    + [gateway(i, f"h{i}.test") for i in range(n)]
    + [virtual_service(i, hosts=[f"h{i}.test"], gateways=[f"gw-{i}"], http=route("svc-0")) for i in range(n)],
}

ONE_OBJECT = {
    "findings-in-one-object": lambda n: [
        virtual_service(0, hosts=["a"], http=[{"timeout": "1", "route": [{"destination": {"host": f"x{i}"}}]} for i in range(n)])
    ],
    "unknown-fields": lambda n: [virtual_service(0, hosts=["a"], **{f"zz{i}": 1 for i in range(n)})],
}


def aliases(n):
    base = "  - &a {x: [" + ", ".join("1" for _ in range(n)) + "]}\n"
    return "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\nspec:\n" + base + "  - *a\n" * n


def bundle(folder, objects):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "k8s").mkdir(parents=True)
    objects = [namespace("shop")] + objects
    for kind, name in KINDS.items():
        items = [one for one in objects if one["kind"] == kind]
        text = json.dumps({"kind": "List", "apiVersion": "v1", "items": items})
        (folder / "k8s" / f"{name}.json").write_text(text)
    manifest = {"format": "meshladder-bundle", "version": 1, "takenAt": "2026-11-15T06:30:00Z"}
    (folder / "manifest.json").write_text(json.dumps(manifest | {"cluster": {"id": "a", "network": ""}, "coverage": {}}))
    return folder


def instructions(words):
    run = subprocess.run(
        ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *words],
        capture_output=True,
        text=True,
    )
    found = re.search(r"I\s+refs:\s+([\d,]+)", run.stderr)
    if not found:
        sys.exit(f"{' '.join(map(str, words))}: {run.stderr}")
    return int(found[1].replace(",", ""))


def jobs(binary, data, n):
    for name, make in CASES.items():
        folder = bundle(data / f"{name}-{n}", make(n))
        yield f"check {name}", [binary, "check", "-s", folder]
        if name in ("pods-of-service", "one-host", "pods-without-proxy"):
            yield f"why {name}", [binary, "why", "--from", "shop/pod-0", "--to", "http://svc-0:8080/", "-s", folder]
    for name, make in (OBJECT_CASES | ONE_OBJECT).items():
        file = data / f"{name}-{n}.yaml"
        file.write_text("\n---\n".join(json.dumps(one) for one in make(n)))
        yield f"analyze {name}", [binary, "analyze", file]
    file = data / f"aliases-{n}.yaml"
    file.write_text(aliases(n))
    yield "analyze aliases", [binary, "analyze", file]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--size", type=int, default=400)
    parser.add_argument("--only", default="")
    parser.add_argument("binary")
    args = parser.parse_args()
    args.data.mkdir(parents=True, exist_ok=True)
    worst = 0
    sizes = [args.size, 2 * args.size]
    columns = [dict(jobs(args.binary, args.data, n)) for n in sizes]
    # What a command takes for nothing at all is no growth.
    nothing = bundle(args.data / "nothing", [])
    empty = {"check": instructions([args.binary, "check", "-s", nothing])}
    print(f"{'case':44}{sizes[0]:>12}{sizes[1]:>12}   ratio")
    for name, words in columns[0].items():
        if args.only not in name:
            continue
        base = empty["check"] if name.startswith("check") else 0
        counts = [instructions(column[name]) - base for column in (columns[0], columns[1])]
        ratio = counts[1] / max(counts[0], 1)
        worst = max(worst, ratio)
        mark = "  too much" if ratio > LIMIT else ""
        print(f"{name:44}{counts[0] / 1e6:>11.0f}M{counts[1] / 1e6:>11.0f}M{ratio:>8.2f}{mark}", flush=True)
    print(f"the worst doubling: {worst:.2f}")
    sys.exit(worst > LIMIT)


main()
