"""Times commands in interleaved rounds, for scripts/bench.

Each line of standard input is a job: the size asked for, a file and the arguments that go before `--file FILE`,
with tabs between. The table has the medians; `!` marks what misses a goal.
"""

import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

# Megabytes a second, peak memory by file size, speed by that of serde_json::Value, time by time per size.
MIN_SPEED, MAX_MEMORY, MIN_GAIN, MAX_BEND = 450, 1.2, 4, 0.15
# istioctl takes seconds where the others take parts of one.
ISTIOCTL_ROUNDS = 3


class Failed(Exception):
    pass


def run(command):
    """Seconds of processor time, which whatever else runs hardly moves, and the peak of resident memory in bytes."""
    # The kernel counts the memory of whoever starts a program as that program's: `time` is small, Python is not.
    with tempfile.NamedTemporaryFile("r") as peak:
        prefix = ["/usr/bin/time", "-q", "-f", "%M", "-o", peak.name] if os.path.exists("/usr/bin/time") else []
        if shutil.which("taskset"):
            prefix += ["taskset", "-c", "0"]
        process = subprocess.Popen(prefix + command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = usage.ru_utime + usage.ru_stime
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            first = errors.decode(errors="replace").strip().partition("\n")[0]
            raise Failed(f"exit {process.returncode}: {first}")
        return seconds, int(peak.read() if prefix[:1] == ["/usr/bin/time"] else usage.ru_maxrss) * 1024


class Samples:
    """The runs of one command."""

    def __init__(self, command):
        self.command, self.runs, self.failure = command, [], None

    def round(self):
        if self.failure is None:
            try:
                self.runs.append(run(self.command))
            except (Failed, OSError) as failure:
                self.failure = failure

    @property
    def seconds(self):
        return statistics.median(seconds for seconds, _ in self.runs)

    @property
    def memory(self):
        return max(memory for _, memory in self.runs)

    @property
    def good(self):
        return self.failure is None and bool(self.runs)


class Job:
    def __init__(self, line, binary, istioctl):
        size, self.file, self.listing = line.rstrip("\n").split("\t")
        self.asked, self.bytes = int(size), os.path.getsize(self.file)
        arguments = [*shlex.split(self.listing), "--file", self.file]
        self.ours = Samples([binary, *arguments])
        self.theirs = Samples([istioctl, *arguments]) if istioctl else None


def measure(jobs, values, rounds):
    for number in range(rounds):
        for file in values:
            values[file].round()
        for job in jobs:
            job.ours.round()
            if job.theirs and number < ISTIOCTL_ROUNDS:
                job.theirs.round()
        if sys.stderr.isatty():
            print(f"round {number + 1} of {rounds}", file=sys.stderr)


def mark(text, good):
    return text + (" " if good else "!")


def row(job, value):
    ours, theirs = job.ours, job.theirs
    cells = [job.listing, f"{job.bytes / 1e6:.0f}"]
    if not ours.good:
        return [*cells, f"failed: {ours.failure}"]
    speed, memory = job.bytes / 1e6 / ours.seconds, ours.memory / job.bytes
    # In a small file the program itself outweighs what it does.
    big = job.asked >= 100
    cells += [
        f"{ours.seconds:.3f}",
        mark(f"{speed:.0f}", speed >= MIN_SPEED or not big),
        f"{ours.memory / 1e6:.0f}",
        mark(f"{memory:.2f}", memory <= MAX_MEMORY or not big),
    ]
    if value.good:
        gain = value.seconds / ours.seconds
        cells += [f"{value.seconds:.3f}", mark(f"{gain:.1f} x", gain >= MIN_GAIN), f"{value.memory / 1e6:.0f}"]
    else:
        cells += ["failed", "", ""]
    if theirs and theirs.good:
        cells += [f"{theirs.seconds:.2f}", f"{theirs.seconds / ours.seconds:.1f} x", f"{theirs.memory / 1e6:.0f}"]
    elif theirs:
        cells.append("failed")
    return cells


def print_table(rows):
    width = defaultdict(int)
    for cells in rows:
        for i, cell in enumerate(cells):
            # A message comes last and may stand out.
            width[i] = max(width[i], 0 if cell.startswith("failed:") else len(cell))
    for cells in rows:
        print("  ".join(c.ljust(width[i]) if i == 0 else c.rjust(width[i]) for i, c in enumerate(cells)).rstrip())


def print_linearity(jobs):
    by_listing = defaultdict(dict)
    for job in jobs:
        if job.ours.good:
            by_listing[job.listing][job.asked] = job
    lines = [(name, sizes[100], sizes[400]) for name, sizes in by_listing.items() if {100, 400} <= sizes.keys()]
    if not lines:
        return
    rows = [["listing", "400 MB by 100 MB"]]
    for name, small, large in lines:
        ratio = large.ours.seconds / small.ours.seconds
        rows.append([name, mark(f"{ratio:.2f} x", abs(ratio / (large.bytes / small.bytes) - 1) <= MAX_BEND)])
    print()
    print_table(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--value", required=True)
    parser.add_argument("binary")
    options = parser.parse_args()
    istioctl = shutil.which("istioctl")
    jobs = [Job(line, options.binary, istioctl) for line in sys.stdin]
    values = {job.file: Samples([options.value, job.file]) for job in jobs}
    for file in values:
        Path(file).read_bytes()  # into the page cache
    measure(jobs, values, options.rounds)
    header = ["listing", "MB", "cpu s", "MB/s ", "RSS MB", "RSS/file ", "Value s", "gain ", "RSS MB"]
    if istioctl:
        header += ["istioctl s", "gain", "RSS MB"]
    print_table([header, *(row(job, values[job.file]) for job in jobs)])
    print_linearity(jobs)
    goals = f"{MIN_SPEED} MB/s, {MAX_MEMORY} x the file, {MIN_GAIN} x serde_json::Value, linear within {MAX_BEND:.0%}"
    print(f"\nmedian of {options.rounds} rounds; ! misses a goal: {goals}")
    return 0 if all(job.ours.good for job in jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
