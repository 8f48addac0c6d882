"""Rights: what `rbac` prints is enough for the command it is for, and what was not allowed to be read is not claimed."""

import json

from cluster import Case, User, breaks_things, kubectl, meshladder, pods_with_proxy, rules, run

EVERYTHING_BUT_PORTS = ("", ["pods", "services", "namespaces", "nodes", "events", "configmaps", "serviceaccounts"], ["get", "list"])


def printed(*words):
    """The roles that `rbac` prints."""
    yaml = meshladder("rbac", *words).out
    made = run(["kubectl", "create", "--dry-run=client", "-o", "json", "-f", "-"], stdin=yaml)
    assert made.code == 0, made
    roles, rest = [], made.out
    while rest.strip():
        role, end = json.JSONDecoder().raw_decode(rest.lstrip())
        roles.append(role)
        rest = rest.lstrip()[end:]
    return roles


@breaks_things
class Rights(Case):
    COMMANDS = {
        "check": ["check", "-A"],
        "analyze": ["analyze", "-A"],
        "proxy-status": ["proxy-status"],
        "describe": ["describe", "svc/catalog", "-n", "shop"],
        "logs": ["logs", "deploy/catalog-v1", "-n", "shop"],
        "trace": ["trace", "--from", "shop/frontend", "--to", "http://catalog.shop:8080/"],
        "why": ["why", "--from", "shop/frontend", "--to", "http://catalog.shop:8080/"],
        "authz": ["authz", "check", "--from", "shop/frontend", "--to", "http://catalog.shop:8080/"],
    }

    def test_the_rights_that_are_printed_are_enough(self):
        for purpose, words in self.COMMANDS.items():
            with self.subTest(purpose=purpose), User(*printed("--for", purpose)) as user:
                done = user.meshladder(*words)
                self.assertIn(done.code, (0, 1), done)
                self.assertNotIn("no right to", done.out + done.err)

    def test_the_rights_that_are_printed_are_all_there(self):
        for purpose in self.COMMANDS:
            with self.subTest(purpose=purpose), User(*printed("--for", purpose)) as user:
                self.succeeds(user.meshladder("rbac", "--for", purpose, "--check"))

    def test_rights_in_one_namespace_are_used_and_what_they_leave_open_is_named(self):
        with User(*printed("--for", "check", "-n", "shop")) as user:
            self.succeeds(user.meshladder("rbac", "--for", "check", "-n", "shop", "--check"))
            done = user.meshladder("check", "-n", "shop", "-o", "json")
            self.assertIn(done.code, (0, 1, 5), done)
            state = {entry["need"]: entry["state"] for entry in done.json["coverage"]}
            self.assertEqual(state["istiod/"], "complete", done)
            self.assertEqual(state["peerauthentications.security.istio.io"], "partial", done)

    def test_a_role_in_a_namespace_gives_no_right_in_the_cluster(self):
        # Bound in a namespace, a ClusterRole shows `nodes` among the rules of that namespace and gives none.
        role = rules("Role", [("", ["nodes", "namespaces", "pods"], ["list"])], "shop")
        with User(role) as user:
            done = user.meshladder("rbac", "--for", "check", "--check")
            self.assertEqual(done.code, 4, done)
            self.assertIn("list nodes in the whole cluster", done.out)

    def test_the_verb_that_a_websocket_needs_is_named(self):
        # kubectl opens a port with a POST, so `create` alone is enough for it.
        proxy = next(proxy for proxy in pods_with_proxy() if proxy.endswith(".shop"))
        role = rules("ClusterRole", [EVERYTHING_BUT_PORTS, ("", ["pods/portforward"], ["create"])])
        with User(role) as user:
            done = user.meshladder("proxy-config", "cluster", proxy)
            self.assertEqual(done.code, 1, done)
            self.assertIn("`get` and `create` of pods/portforward", done.err)

    def test_nothing_is_claimed_of_what_may_not_be_read(self):
        role = rules("ClusterRole", [EVERYTHING_BUT_PORTS])
        with User(role) as user:
            done = user.meshladder("describe", "svc/catalog", "-n", "shop")
            for claim in ("no VirtualService", "PERMISSIVE", "everybody", "no AuthorizationPolicy"):
                self.assertNotIn(claim, done.out)

    def test_rights_in_the_servers_namespace_alone_still_give_a_report(self):
        role = rules("Role", [("*", ["*"], ["get", "list"]), ("", ["pods/portforward"], ["create", "get"])], "shop")
        with User(role) as user:
            done = user.meshladder("why", "--from", "tools/curl", "--to", "http://catalog.shop:8080/", "-o", "json")
            self.assertIn(done.code, (0, 1, 5), done)
            self.assertTrue(done.json["coverage"], done)

    def test_without_any_right_it_is_undecided(self):
        with User() as user:
            done = user.meshladder("check", "-A", "-o", "json")
            self.assertIn(done.code, (4, 5), done)


@breaks_things
class Faults(Case):
    def test_rejected_by_flow_control_is_tried_again(self):
        priority = {
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
            "kind": "PriorityLevelConfiguration",
            "metadata": {"name": "e2e-narrow"},
            "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}},
        }
        with User(rules("ClusterRole", [("*", ["*"], ["*"])])) as user:
            flow = {
                "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
                "kind": "FlowSchema",
                "metadata": {"name": "e2e-narrow"},
                "spec": {
                    "priorityLevelConfiguration": {"name": "e2e-narrow"},
                    "matchingPrecedence": 2,
                    "rules": [
                        {
                            "subjects": [
                                {"kind": "ServiceAccount", "serviceAccount": {"name": user.name, "namespace": "default"}}
                            ],
                            "resourceRules": [
                                {
                                    "verbs": ["*"],
                                    "apiGroups": ["*"],
                                    "resources": ["*"],
                                    "clusterScope": True,
                                    "namespaces": ["*"],
                                }
                            ],
                        }
                    ],
                },
            }
            try:
                for manifest in (priority, flow):
                    kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
                done = user.meshladder("check", "-A", "--concurrency", "8", "-o", "json")
                self.assertIn(done.code, (0, 1), done)
            finally:
                for manifest in (flow, priority):
                    kubectl("delete", "--ignore-not-found", "-f", "-", stdin=json.dumps(manifest))
