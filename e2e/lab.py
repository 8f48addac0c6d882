"""The lab: a mesh of our own that may be broken. See scripts/lab."""

import json
import os
import shutil
import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path

from cluster import LAB, run

SCENARIOS = Path(LAB or ".") / "scenarios"
RUN = Path(os.environ.get("LAB", ".")) / "run"


def lab(*words, env=None, timeout=300):
    return run([Path(LAB) / words[0], *words[1:]], env, timeout)


@contextmanager
def broken(scenario):
    """The mesh with a scenario's fault in it, and what is known of it; healed again afterwards."""
    known = json.loads((SCENARIOS / scenario / "scenario.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        # The lab tries the fix before it returns, and we want the fault.
        copy = Path(folder) / scenario
        shutil.copytree(SCENARIOS / scenario, copy)
        truth = {key: value for key, value in known["truth"].items() if key not in ("fix", "after")}
        (copy / "scenario.json").write_text(json.dumps({**known, "truth": truth}))
        try:
            done = lab("scenario", "run", scenario, "--keep", env={"LAB_SCENARIOS": folder})
            assert done.code == 0, done
            yield known
        finally:
            done = lab("scenario", "reset")
            assert done.out.rstrip().endswith("\nready"), done


def pids_of(daemon):
    return [int((RUN / "pids" / daemon).read_text())]


def pids_in_pod(namespace, pod):
    """A pod of the lab is a network namespace, a container a process in it."""
    done = run(["ip", "netns", "pids", f"pod-{namespace}-{pod}"])
    return [int(pid) for pid in done.out.split()]


@contextmanager
def stopped(pids):
    """Programs that do not answer while it lasts: they are there, and say nothing."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def restart(daemon):
    pid = int((RUN / "pids" / daemon).read_text())
    os.kill(pid, signal.SIGTERM)
    return lab("up", daemon)
