"""Writes an access log in Istio's TEXT format: sidecars of a few hundred services, one request in fifty fails. The same size gives the same bytes."""

import argparse
import random
import sys

AGENTS = ["curl/8.5.0", "Go-http-client/2.0", "okhttp/4.12.0", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36", 'say "hi"']
PATHS = ["/", "/api/v1/orders", "/api/v1/orders/{n}?expand=items&page={n}", "/cart/{n}", "/healthz", "/search?q=blue+shoes+{n}"]
RESET = "upstream_reset_before_response_started"
ENDS = [
    ("503", "UF,URX", RESET + "{remote_connection_failure|delayed_connect_error:_Connection_refused}", "delayed_connect_error:_Connection_refused"),
    ("503", "UC", RESET + "{connection_termination}", "-"),
    ("503", "UH", "no_healthy_upstream", "-"),
    ("504", "UT", "response_timeout", "-"),
    ("0", "DC", "downstream_remote_disconnect", "-"),
    ("503", "-", "via_upstream", "-"),
    ("404", "-", "via_upstream", "-"),
    ("403", "-", "rbac_access_denied_matched_policy[none]", "-"),
]
FINE = ("200", "-", "via_upstream", "-")


def line(chance, at):
    service, n = chance.randrange(300), chance.randrange(100000)
    code, flags, details, failure = chance.choice(ENDS) if chance.random() < 0.02 else FINE
    second, ms = divmod(at, 1000)
    clock = f"2026-11-15T{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}.{ms:03}Z"
    path = chance.choice(PATHS).replace("{n}", str(n))
    bits = chance.getrandbits(128)
    request_id = f"{bits >> 96:08x}-{bits >> 80 & 0xFFFF:04x}-4{bits >> 68 & 0xFFF:03x}-8{bits >> 56 & 0xFFF:03x}-{bits & 0xFFFFFFFFFFFF:012x}"
    client, server = f"10.244.{service % 7}.{n % 250}", f"10.244.{service % 11}.{service % 250}"
    host = f"svc-{service}.team-{service % 37}"
    took = chance.randrange(200)
    return (
        f'[{clock}] "GET {path} HTTP/1.1" {code} {flags} {details} - "{failure}" 0 {n} {took} {took} "-" '
        f'"{chance.choice(AGENTS)}" "{request_id}" "{host}:8080" "{server}:8080" '
        f"outbound|8080||{host}.svc.cluster.local {client}:{40000 + n % 20000} 10.96.{service % 200}.{service % 250}:8080 "
        f"{client}:{30000 + n % 30000} - default\n"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, required=True)
    left = parser.parse_args().megabytes * 1_000_000
    chance = random.Random(1)
    at = 0
    while left > 0:
        block = "".join(line(chance, at + i) for i in range(1000))
        at += 1000
        sys.stdout.write(block)
        left -= len(block)


main()
