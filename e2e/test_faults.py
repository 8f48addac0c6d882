"""The API server hangs, restarts or is behind a wall that drops everything."""

import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path

from cluster import KUBECONFIG, MESHLADDER, Case, kubectl, meshladder, needs_lab, objects, pods_with_proxy
from lab import pids_in_pod, pids_of, restart, stopped


@needs_lab
class ApiServer(Case):
    def test_one_that_hangs_is_told_within_the_time_that_was_given(self):
        with stopped(pids_of("kube-apiserver")):
            done = meshladder("check", "-A", "--timeout", "6s", "--request-timeout", "3s")
        self.assertEqual(done.code, 3, done)
        self.assertLess(done.seconds, 15, done)

    def test_a_black_hole_is_told_once_and_soon(self):
        # Blocks of documentation are routed nowhere; the lab's router drops them.
        config = json.loads(kubectl("config", "view", "--raw", "-o", "json"))
        for cluster in config["clusters"]:
            cluster["cluster"]["server"] = "https://198.51.100.99:6443"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kubeconfig"
            path.write_text(json.dumps(config))
            done = meshladder("check", "-A", kubeconfig=str(path))
        self.assertEqual(done.code, 3, done)
        self.assertLess(done.seconds, 20, done)

    def test_a_restart_in_the_middle_is_lived_through(self):
        answers = []
        asking = threading.Thread(target=lambda: answers.append(meshladder("check", "-A", "--proxies", "all", "-o", "json")))
        asking.start()
        restart("kube-apiserver")
        asking.join()
        self.assertIn(answers[0].code, (0, 1, 5), answers[0])


@needs_lab
class Istiod(Case):
    def test_nothing_that_could_be_read_is_no_all_clear(self):
        with stopped(istiods()):
            done = meshladder("check", "-A", "--request-timeout", "2s", "-o", "json")
        self.assertNotEqual(done.json["verdict"], "healthy", done)

    def test_no_proxy_that_could_be_read_is_no_all_clear(self):
        done = meshladder("check", "-A", "--timeout", "300ms", "-o", "json")
        self.assertNotEqual(done.code, 0, done)


@needs_lab
class LogLevels(Case):
    def setUp(self):
        self.proxy = next(proxy for proxy in pods_with_proxy() if proxy.startswith("cart-"))

    def test_a_run_that_is_killed_leaves_levels_that_the_audit_tells_and_reset_takes_back(self):
        raising = subprocess.Popen(
            [MESHLADDER, "log-level", self.proxy, "--level", "http:debug", "--for", "60s"],
            env={**os.environ, "KUBECONFIG": KUBECONFIG},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        raising.stderr.readline()
        raising.kill()
        raising.wait()
        audit = meshladder("log-level", "--audit", "-A")
        self.assertEqual(audit.code, 1, audit)
        self.assertIn(self.proxy.split(".")[0], audit.out)
        self.succeeds(meshladder("log-level", self.proxy, "--reset"))
        self.succeeds(meshladder("log-level", "--audit", "-A"))


def istiods():
    """The processes of every istiod."""
    pods = [pod["metadata"]["name"] for pod in objects("pods", "istio-system")]
    return [pid for pod in pods if pod.startswith("istiod-") for pid in pids_in_pod("istio-system", pod)]
