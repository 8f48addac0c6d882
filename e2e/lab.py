"""The lab: a mesh of our own that may be broken. See scripts/lab."""

import json
import os
import signal
from contextlib import contextmanager
from pathlib import Path

from cluster import LAB, run

SCENARIOS = Path(LAB or ".") / "scenarios"
RUN = Path(os.environ.get("LAB", ".")) / "run"


def lab(*words, timeout=300):
    return run([Path(LAB) / words[0], *words[1:]], timeout=timeout)


@contextmanager
def broken(scenario):
    """The mesh with a scenario's fault in it, and what is known of it; healed again afterwards."""
    try:
        done = lab("scenario", "run", scenario, "--keep")
        assert done.code == 0, done
        yield json.loads((SCENARIOS / scenario / "scenario.json").read_text())
    finally:
        done = lab("scenario", "reset")
        assert done.out.rstrip().endswith("\nready"), done


@contextmanager
def stopped(daemon):
    """A program of the lab that does not answer while it lasts: it is there, and says nothing."""
    pid = int((RUN / "pids" / daemon).read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def restart(daemon):
    pid = int((RUN / "pids" / daemon).read_text())
    os.kill(pid, signal.SIGTERM)
    return lab("up", daemon)
