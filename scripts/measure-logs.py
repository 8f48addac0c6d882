"""Times `logs` for scripts/bench on one and two threads, beside `grep -c`. Fails below 300 MB/s of processor time on one core."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

MIN_RATE = 300


def run(command, cores):
    """Wall-clock seconds, processor seconds and peak memory in MB."""
    prefix = ["taskset", "-c", cores] if shutil.which("taskset") else []
    begin = time.monotonic()
    # grep stops at the first match when it writes to /dev/null.
    process = subprocess.Popen(prefix + command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    errors = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode > 1:
        sys.exit(errors.decode(errors="replace"))
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--file", required=True)
    parser.add_argument("binary")
    options = parser.parse_args()
    size = os.path.getsize(options.file) / 1_000_000
    logs = [options.binary, "logs", options.file, "--threads"]
    jobs = [("logs, 1 thread", logs + ["1"], "0"), ("logs, 2 threads", logs + ["2"], "0,1"), ("grep -c ' 503 '", ["grep", "-c", " 503 ", options.file], "0")]
    print(f"{size:.0f} MB{'MB/s':>23}{'MB/s of processor':>20}{'peak MB':>10}")
    rates = []
    for name, command, cores in jobs:
        results = [run(command, cores) for _ in range(options.rounds)]
        wall, processor, memory = (statistics.median(column) for column in zip(*results))
        rates.append(size / processor)
        print(f"{name:<20}{size / wall:>10.0f}{size / processor:>20.0f}{memory:>10.0f}")
    sys.exit(rates[0] < MIN_RATE)


main()
