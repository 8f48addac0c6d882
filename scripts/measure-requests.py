"""Times `trace --requests` for scripts/bench: requests a second of processor time on one core."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys

MIN_RATE = 100_000
FROM = "shop/frontend-5b64d475cf-cwr6l"


def seconds(command):
    prefix = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    process = subprocess.Popen(prefix + command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(errors.decode(errors="replace"))
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    for name in ["--dump", "--many", "--one"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("binary")
    options = parser.parse_args()
    command = [options.binary, "trace", "-s", options.dump, "--from", FROM, "--requests"]
    with open(options.many, encoding="utf-8") as lines:
        count = sum(1 for _ in lines)
    many, one = [], []
    for _ in range(options.rounds):
        one.append(seconds(command + [options.one]))
        many.append(seconds(command + [options.many]))
    start = statistics.median(one)
    rate = (count - 1) / (statistics.median(many) - start)
    print(f"{count} requests: {rate:,.0f} a second; reading and compiling the dump {start:.2f} s")
    sys.exit(rate < MIN_RATE)


main()
