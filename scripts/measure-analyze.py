#!/usr/bin/env python3
"""Measures `analyze` on generated manifests, for scripts/bench: the median time of some rounds, and the peak memory."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from worst_cases import CASES

# What istioctl takes on two cores: seconds and MB.
ISTIOCTL = {10_000: (1.4, 127), 50_000: (7.3, 308)}
STEEPEST = 4.4

OBJECTS = """apiVersion: v1
kind: Service
metadata: {{name: svc-{i}, namespace: ns-{n}}}
spec:
  selector:
    app: svc-{i}
  ports:
  - name: http
    port: 8080
    targetPort: 8080
---
apiVersion: v1
kind: Pod
metadata:
  name: svc-{i}-v1
  namespace: ns-{n}
  labels:
    app: svc-{i}
    version: v1
spec:
  containers:
  - name: app
    image: app:1
    ports:
    - containerPort: 8080
  - name: istio-proxy
    image: proxyv2:1
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata:
  name: svc-{i}
  namespace: ns-{n}
spec:
  host: svc-{i}.ns-{n}.svc.cluster.local
  subsets:
  - name: v1
    labels:
      version: v1
  - name: all
    labels:
      app: svc-{i}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: svc-{i}
  namespace: ns-{n}
spec:
  hosts:
  - svc-{i}.ns-{n}.svc.cluster.local
  http:
  - match:
    - uri:
        prefix: /v1
    route:
    - destination:
        host: svc-{i}.ns-{n}.svc.cluster.local
        subset: v1
  - route:
    - destination:
        host: svc-{i}.ns-{n}.svc.cluster.local
        subset: all
---
"""

GATEWAYS = """apiVersion: networking.istio.io/v1
kind: Gateway
metadata:
  name: gw-{i}
  namespace: ns-{n}
spec:
  selector:
    istio: ingressgateway
  servers:
  - port:
      number: 80
      name: http
      protocol: HTTP
    hosts:
    - host-{i}.example.com
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: vs-{i}
  namespace: ns-{n}
spec:
  hosts:
  - host-{i}.example.com
  gateways:
  - ns-{n}/gw-{i}
  http:
  - route:
    - destination:
        host: svc-{i}.ns-{n}.svc.cluster.local
---
apiVersion: v1
kind: Service
metadata:
  name: svc-{i}
  namespace: ns-{n}
spec:
  selector:
    app: svc-{i}
  ports:
  - name: http
    port: 8080
---
"""

# Objects of one namespace that all select the same pods: nothing may look at each pair of them.
SHARED = """apiVersion: v1
kind: Pod
metadata:
  name: pod-{i}
  namespace: shop
  labels: {{app: app-{i}, tier: back}}
spec:
  containers:
  - name: istio-proxy
    image: proxyv2:1
---
apiVersion: v1
kind: Service
metadata:
  name: svc-{i}
  namespace: shop
spec:
  selector:
    tier: back
  ports:
  - name: http
    port: 8080
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata:
  name: policy-{i}
  namespace: shop
spec:
  selector:
    matchLabels:
      tier: back
  rules:
  - to:
    - operation:
        paths: [/p-{i}]
---
apiVersion: security.istio.io/v1
kind: RequestAuthentication
metadata:
  name: tokens-{i}
  namespace: shop
spec:
  selector:
    matchLabels:
      tier: back
  jwtRules:
  - issuer: issuer-{i}
---
"""


def measure(binary: str, path: pathlib.Path, rounds: int, codes: tuple[int, ...] = (0,)) -> tuple[float, float]:
    """Median seconds, and peak MB."""
    seconds, peak = [], 0
    for _ in range(rounds):
        begin = time.perf_counter()
        run = subprocess.Popen([binary, "analyze", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        found = run.stdout.read()
        _, status, usage = os.wait4(run.pid, 0)
        seconds.append(time.perf_counter() - begin)
        peak = max(peak, usage.ru_maxrss)
        if os.waitstatus_to_exitcode(status) not in codes:
            sys.exit(f"{path}: exit code {os.waitstatus_to_exitcode(status)}: {found[:400]!r}")
    return statistics.median(seconds), peak / 1024


def make(folder: pathlib.Path, name: str, template: str, count: int) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{count}.yaml"
    path.write_text("".join(template.format(i=i, n=i % 50) for i in range(count)))
    return path


def make_worst(folder: pathlib.Path, name: str, count: int) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{count}.yaml"
    path.write_text("".join(f"---\n{json.dumps(one)}\n" for one in CASES[name](count)))
    return path


def is_steep(arguments: argparse.Namespace, name: str, make_one, codes: tuple[int, ...] = (0,)) -> bool:
    """Whether four times as many objects take much more than four times as long."""
    print(f"{name:>11}   seconds   peak MB")
    took = {}
    for count in (1000, 2000, 4000):
        took[count], peak = measure(arguments.binary, make_one(count), arguments.rounds, codes)
        print(f"{count:11}{took[count]:10.3f}{peak:10.0f}")
    steep = took[4000] / took[1000]
    print(f"4,000 take {steep:.1f} times as long as 1,000; at most {STEEPEST}")
    return steep > STEEPEST


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--objects", type=int, action="append", default=[])
    parser.add_argument("--gateways", action="store_true")
    parser.add_argument("binary")
    arguments = parser.parse_args()
    failed = False
    print("    objects   seconds   at most   peak MB   at most")
    for count in arguments.objects:
        path = make(arguments.data, "objects", OBJECTS, count // 4)
        seconds, peak = measure(arguments.binary, path, arguments.rounds)
        time_limit, memory_limit = ISTIOCTL[count][0] / 10, ISTIOCTL[count][1] / 3
        print(f"{count:11}{seconds:10.3f}{time_limit:10.3f}{peak:10.0f}{memory_limit:10.0f}")
        failed |= seconds > time_limit or peak > memory_limit
    if arguments.gateways:
        for name, template in (("gateways", GATEWAYS), ("shared", SHARED)):
            failed |= is_steep(arguments, name, lambda n, t=template, name=name: make(arguments.data, name, t, n))
        for name in CASES:
            # 79: something was found, as it should.
            failed |= is_steep(arguments, name, lambda n, name=name: make_worst(arguments.data, name, n), (0, 79))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
