"""Writes requests for `trace --requests`, one a line, to the services of generate-dump. The same arguments give the same lines."""

import argparse
import json
import random

PATHS = ["/", "/api/orders", "/v1/items/7", "/part-0/abc/12", "/part-1/x", "/part-2/index", "/part-3/deep/er", "/part-4/z"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--services", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    options = parser.parse_args()
    chance = random.Random(1)
    for _ in range(options.count):
        number = chance.randrange(options.services)
        request = {"to": f"http://svc-{number:05}.team-{number % 37:02}:8080{chance.choice(PATHS)}"}
        if chance.random() < 0.5:
            request["method"] = "POST"
        if chance.random() < 0.3:
            request["headers"] = {"x-tenant": "t1", "user-agent": "bench"}
        print(json.dumps(request, separators=(",", ":")))


main()
