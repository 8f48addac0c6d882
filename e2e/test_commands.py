"""Every command on a running cluster. Nothing is changed."""

import json
import re
import tempfile
from pathlib import Path

from cluster import Case, istioctl, meshladder, objects, pods_with_proxy

# Of `istioctl proxy-config`, the tables that a pod of every mesh has.
LISTINGS = ["cluster", "listener", "route", "endpoint", "bootstrap", "secret"]


class Reports(Case):
    def test_check_reads_every_proxy_and_ends_with_a_verdict(self):
        done = self.succeeds(meshladder("check", "-A", "--proxies", "all", "-o", "json"), 0, 1)
        self.assertIn(done.json["verdict"], ("healthy", "broken", "degraded"), done)
        lacking = [entry for entry in done.json["coverage"] if entry["state"] != "complete"]
        self.assertEqual(lacking, [], done)

    def test_check_says_the_same_of_a_snapshot_as_of_the_cluster(self):
        with tempfile.TemporaryDirectory() as folder:
            bundle = Path(folder) / "mesh.tar.zst"
            self.succeeds(meshladder("snapshot", bundle, "--proxies", "all"))
            self.succeeds(meshladder("bundle", "verify", bundle))
            kept = meshladder("check", "-A", "-s", bundle, "-o", "json")
            live = meshladder("check", "-A", "--proxies", "all", "-o", "json")
            self.assertEqual(kept.code, live.code, f"{kept}{live}")
            self.assertEqual(kept.json["verdict"], live.json["verdict"])
            self.assertEqual(codes(kept.json), codes(live.json))

    def test_analyze_finds_what_istioctl_finds(self):
        ours = self.succeeds(meshladder("analyze", "-A", "-o", "json"), 0, 1)
        theirs = istioctl("analyze", "-A", "-o", "json")
        named = {message["code"] for message in json.loads(theirs.out)}
        told = set(re.findall(r"IST\d{4}", ours.out))
        self.assertLessEqual(named, told, f"{ours}{theirs}")

    def test_describe_knows_every_service_that_has_endpoints(self):
        for service in objects("services", "shop") or objects("services"):
            name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
            done = self.succeeds(meshladder("describe", f"svc/{name}", "-n", namespace))
            self.assertIn(name, done.out)


class Listings(Case):
    def test_proxy_config_prints_what_istioctl_prints(self):
        for proxy in pods_with_proxy()[:3]:
            for listing in LISTINGS:
                with self.subTest(proxy=proxy, listing=listing):
                    ours = self.succeeds(meshladder("proxy-config", listing, proxy))
                    theirs = istioctl("proxy-config", listing, proxy)
                    self.assertEqual(comparable(listing, ours.out), comparable(listing, theirs.out))

    def test_proxy_status_has_a_row_for_every_proxy(self):
        done = self.succeeds(meshladder("proxy-status"))
        rows = [line.split()[0] for line in done.out.splitlines()[1:]]
        self.assertEqual(sorted(rows), pods_with_proxy(), done)

    def test_a_proxy_that_is_in_sync_has_what_istiod_would_send(self):
        for proxy in pods_with_proxy():
            with self.subTest(proxy=proxy):
                self.succeeds(meshladder("diff", proxy, "istiod"))

    def test_two_replicas_of_one_workload_do_not_differ(self):
        by_owner = {}
        for pod in objects("pods"):
            owner = (pod["metadata"].get("ownerReferences") or [{}])[0].get("name")
            by_owner.setdefault(owner, []).append(f"{pod['metadata']['name']}.{pod['metadata']['namespace']}")
        proxies = set(pods_with_proxy())
        pairs = [pods for owner, pods in by_owner.items() if owner and len(pods) > 1 and proxies.issuperset(pods)]
        self.assertTrue(pairs, "no workload has two replicas with a proxy")
        for first, second, *_ in pairs:
            with self.subTest(first=first, second=second):
                self.succeeds(meshladder("diff", first, second))


class Others(Case):
    def test_the_audit_of_log_levels_is_clean_on_a_fresh_mesh(self):
        self.succeeds(meshladder("log-level", "--audit", "-A"))

    def test_rights_of_an_administrator_are_complete(self):
        for purpose in ("check", "why", "analyze", "snapshot", "diff", "logs", "trace", "authz", "canary", "describe"):
            with self.subTest(purpose=purpose):
                done = self.succeeds(meshladder("rbac", "--for", purpose, "--check"))
                self.assertIn("all rights", done.out)

    def test_logs_are_counted_by_flag(self):
        self.succeeds(meshladder("logs", "deploy/cart", "-n", "shop"), 0, 1)

    def test_a_namespace_that_is_not_there_is_not_healthy(self):
        done = meshladder("check", "-n", "no-such-namespace")
        self.assertNotEqual(done.code, 0, done)


def codes(report):
    return [(finding["code"], json.dumps(finding["subject"], sort_keys=True)) for finding in report["findings"]]


def comparable(listing, text):
    """Envoy dumps maps and sets in an order of the moment: two dumps of one proxy do not have the same."""
    return json.loads(text) if listing == "bootstrap" else sorted(text.splitlines())
