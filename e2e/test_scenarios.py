"""Real faults in a real mesh: what the cause is, asked of the running cluster."""

from cluster import Case, meshladder, needs_lab
from lab import broken

# One of each rung, and the story that is told everywhere.
SCENARIOS = [
    "canary-gets-no-traffic-np-blocks-15012",
    "canary-503-subset-selects-no-pods",
    "cart-503-wrong-target-port",
    "cart-503-selector-typo",
    "cart-503-destinationrule-disables-tls",
    "cart-502-port-named-grpc",
    "cart-504-route-timeout",
    "catalog-403-mesh-wide-deny",
    "charge-403-path-not-covered",
    "checkout-503-fault-abort-left-on",
    "frontend-401-token-expired",
    "ingress-404-virtualservice-names-missing-gateway",
    "https-ingress-reset-secret-without-key",
    "legacy-client-reset-by-strict-mtls",
    "outside-host-502-registry-only",
]


@needs_lab
class Scenarios(Case):
    def test_the_cause_is_named_first(self):
        for scenario in SCENARIOS:
            with self.subTest(scenario=scenario), broken(scenario) as known:
                done = meshladder(*question(known["ask"]), "-o", "json")
                self.assertEqual(done.code, 1, done)
                subject = done.json["findings"][0]["subject"]
                named = f"{subject['kind']}/{subject.get('namespace', '')}/{subject['name']}"
                self.assertTrue(any(same(named, wanted) for wanted in known["truth"]["objects"]), f"{named}\n{done}")


def question(ask):
    """The command line of a scenario's question."""
    if ask.get("mesh"):
        return ["check", "-A"]
    words = ["why", "--from", ask["from"], "--to", address(ask), "--method", ask.get("method", "GET")]
    for name, value in (ask.get("headers") or {}).items():
        words += ["-H", f"{name}: {value}"]
    seen = ask.get("seen") or {}
    if "code" in seen:
        flags = seen.get("flags")
        words += ["--seen", f"{seen['code']}/{flags}" if flags and flags != "-" else str(seen["code"])]
    return words


def address(ask):
    scheme = ask.get("scheme") or ("tcp" if ask.get("protocol") == "tcp" else "http")
    return f"{scheme}://{ask['to']}{ask.get('path', '')}"


def same(named, wanted):
    """A Deployment, its ReplicaSet and its pods stand for each other."""
    kinds = ("Deployment", "ReplicaSet", "Pod")
    (kind, place), (other, there) = named.split("/", 1), wanted.split("#")[0].split("/", 1)
    if kind in kinds and other in kinds:
        return place.startswith(there) or there.startswith(place)
    return (kind, place) == (other, there)
