"""The cluster under test, and the programs that ask it. KUBECONFIG names the cluster, MESHLADDER the binary."""

import json
import os
import subprocess
import tempfile
import time
import unittest
import uuid
from dataclasses import dataclass
from pathlib import Path

MESHLADDER = os.environ["MESHLADDER"]
KUBECONFIG = os.environ["KUBECONFIG"]
# Only a cluster that is ours to break is broken: set by `scripts/e2e --faults`.
MAY_BREAK = os.environ.get("E2E_FAULTS") == "1"
# The scenarios of the lab, when it is what is tested.
LAB = os.environ.get("E2E_LAB")

breaks_things = unittest.skipUnless(MAY_BREAK, "it changes the cluster: --faults")
needs_lab = unittest.skipUnless(LAB and MAY_BREAK, "it needs the lab and --faults")


@dataclass
class Run:
    """What a program said, and how long it took."""

    words: list
    code: int
    out: str
    err: str
    seconds: float

    @property
    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return f"{' '.join(self.words)}: exit {self.code}\n{self.out}\n{self.err}"


def run(words, env=None, timeout=180, stdin=None):
    begin = time.monotonic()
    done = subprocess.run(
        [str(word) for word in words],
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        env={**os.environ, **(env or {})},
        check=False,
    )
    return Run([str(word) for word in words], done.returncode, done.stdout, done.stderr, time.monotonic() - begin)


def meshladder(*words, kubeconfig=KUBECONFIG, timeout=180):
    return run([MESHLADDER, *words], {"KUBECONFIG": kubeconfig, "NO_COLOR": "1"}, timeout)


def kubectl(*words, stdin=None):
    done = run(["kubectl", *words], {"KUBECONFIG": KUBECONFIG}, stdin=stdin)
    assert done.code == 0, done
    return done.out


def istioctl(*words):
    return run(["istioctl", *words], {"KUBECONFIG": KUBECONFIG})


def objects(kind, namespace=None):
    place = ["-n", namespace] if namespace else ["-A"]
    return json.loads(kubectl("get", kind, *place, "-o", "json"))["items"]


def pods_with_proxy():
    """`pod.namespace` of every running pod that has a sidecar or is a gateway."""
    found = []
    for pod in objects("pods"):
        spec = pod["spec"]
        containers = spec["containers"] + spec.get("initContainers", [])
        if pod["status"].get("phase") == "Running" and any(c["name"] == "istio-proxy" for c in containers):
            found.append(f"{pod['metadata']['name']}.{pod['metadata']['namespace']}")
    return sorted(found)


class Case(unittest.TestCase):
    """Messages show what the program said."""

    maxDiff = None

    def succeeds(self, done, *codes):
        self.assertIn(done.code, codes or (0,), done)
        return done


class User:
    """A ServiceAccount with exactly the rights it is given, and a kubeconfig of its own."""

    def __init__(self, *manifests, namespace="default"):
        self.name = f"e2e-{uuid.uuid4().hex[:8]}"
        self.namespace = namespace
        self.made = []
        self.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.metadata(namespace)})
        for manifest in manifests:
            self.grant(manifest)
        self.folder = tempfile.TemporaryDirectory()
        self.kubeconfig = str(Path(self.folder.name) / "kubeconfig")
        Path(self.kubeconfig).write_text(json.dumps(self.config()))

    def metadata(self, namespace=None):
        place = {"namespace": namespace} if namespace else {}
        return {"name": self.name, **place}

    def apply(self, manifest):
        kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
        self.made.append(manifest)

    def grant(self, role):
        """Applies a Role or ClusterRole under the user's own name, and binds it."""
        namespace = role["metadata"].get("namespace")
        kind = role["kind"]
        self.apply({**role, "metadata": self.metadata(namespace)})
        subject = {"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": self.name}
        self.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": f"{kind}Binding",
                "metadata": self.metadata(namespace),
                "roleRef": reference,
                "subjects": [subject],
            }
        )

    def config(self):
        token = kubectl("create", "token", self.name, "-n", self.namespace, "--duration=1h").strip()
        mine = json.loads(kubectl("config", "view", "--minify", "--raw", "-o", "json"))
        mine["users"] = [{"name": "user", "user": {"token": token}}]
        for context in mine["contexts"]:
            context["context"]["user"] = "user"
        return mine

    def meshladder(self, *words, **more):
        return meshladder(*words, kubeconfig=self.kubeconfig, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()
        for manifest in reversed(self.made):
            kubectl("delete", "--ignore-not-found", "-f", "-", stdin=json.dumps(manifest))


def rules(kind, allowed, namespace=None):
    """A Role or ClusterRole from (group, resources, verbs)."""
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "of-the-user", **place},
        "rules": [{"apiGroups": [group], "resources": resources, "verbs": verbs} for group, resources, verbs in allowed],
    }
