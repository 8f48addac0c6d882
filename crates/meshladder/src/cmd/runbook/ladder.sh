#!/bin/sh
# The ladder with nothing but kubectl and curl: is the pod in the mesh, does its proxy have the configuration, which
# routes and endpoints, mTLS, policies, what the log says. Reads only.
# Usage: sh ladder.sh -n NAMESPACE POD [HOST]     HOST narrows routes and endpoints, such as catalog.shop
set -u

namespace=default
system=istio-system
while getopts n:i: option; do
    case $option in
    n) namespace=$OPTARG ;;
    i) system=$OPTARG ;;
    *) echo "usage: ladder.sh [-n NAMESPACE] [-i ISTIOD_NAMESPACE] POD [HOST]" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
pod=${1:?"which pod? usage: ladder.sh -n NAMESPACE POD [HOST]"}
host=${2:-}
failed=0
forwards=
scratch=$(mktemp -d) || exit 3

# shellcheck disable=SC2329 # the trap calls it
clean() {
    for id in $forwards; do kill "$id" 2>/dev/null; done
    rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 130' INT TERM

say() { printf '%-14s %-7s %s\n' "$1" "$2" "$3"; }
passed() { say "$1" ok "$2"; }
broken() { say "$1" FAILED "$2"; failed=1; }
unknown() { say "$1" unknown "$2"; }

# forward NAME NAMESPACE PORT: opens a way to the port and leaves the local one in $scratch/NAME.port
forward() {
    kubectl port-forward -n "$2" "$1" ":$3" >"$scratch/forward" 2>"$scratch/why" &
    forwards="$forwards $!"
    tries=0
    while [ "$tries" -lt 50 ]; do
        port=$(sed -n 's/^Forwarding from 127\.0\.0\.1:\([0-9]*\) .*/\1/p' "$scratch/forward" | head -n 1)
        [ -n "$port" ] && return 0
        kill -0 $! 2>/dev/null || return 1
        sleep 0.1
        tries=$((tries + 1))
    done
    return 1
}

# 1. reach
if ! kubectl get pod -n "$namespace" "$pod" -o yaml >"$scratch/pod" 2>"$scratch/why"; then
    unknown reach "cannot read pod $namespace/$pod: $(head -n 1 "$scratch/why")"
    exit 3
fi
passed reach "pod $namespace/$pod is readable"

# 2. control-plane
if kubectl get pods -n "$system" -l app=istiod --no-headers >"$scratch/istiod" 2>"$scratch/why"; then
    ready=$(awk '{ split($2, n, "/"); if (n[1] == n[2] && n[2] > 0) ready++ } END { print ready + 0 }' "$scratch/istiod")
    if [ "$ready" -gt 0 ]; then passed control-plane "$ready istiod pods are ready"; else broken control-plane "no istiod pod in $system is ready"; fi
else
    unknown control-plane "cannot list istiod's pods: $(head -n 1 "$scratch/why")"
fi

# 3. enrolment: a container or a native sidecar, which is an init container
if grep -Eq '^ *(- )?name: istio-proxy$' "$scratch/pod"; then
    passed enrolment "the pod has a proxy"
else
    broken enrolment "the pod has no container istio-proxy: look at the labels istio-injection, istio.io/rev and sidecar.istio.io/inject"
    exit 1
fi

if ! forward "pod/$pod" "$namespace" 15000; then
    unknown sync "cannot reach the proxy's admin port: $(head -n 1 "$scratch/why")"
    exit "$failed"
fi
admin=http://127.0.0.1:$port

# 4. sync
curl -sS --max-time 20 "$admin/stats?filter=control_plane|update_rejected|rbac|ssl.fail|update_time" >"$scratch/stats" 2>"$scratch/why"
case $(sed -n 's/^control_plane.connected_state: //p' "$scratch/stats") in
1) passed sync "the proxy is connected to istiod" ;;
0) broken sync "the proxy has no connection to istiod: NetworkPolicy on 15012, DNS, istiod, certificate" ;;
*) unknown sync "the proxy does not say whether it is connected" ;;
esac

# 5. config
rejected=$(grep -E 'update_rejected: [1-9]' "$scratch/stats")
if [ -n "$rejected" ]; then broken config "updates were rejected: $rejected"; else passed config "no update was rejected"; fi

# 6. routing
curl -sS --max-time 60 "$admin/config_dump?resource=dynamic_route_configs" >"$scratch/routes" 2>"$scratch/why"
if [ -z "$host" ]; then
    unknown routing "name a host as the second argument to look for its routes"
elif grep -q "\"$host" "$scratch/routes"; then
    passed routing "there is a virtual host for $host"
else
    broken routing "no virtual host names $host: host, exportTo, Sidecar, gateway binding"
fi

# 7. endpoints
curl -sS --max-time 60 "$admin/clusters" >"$scratch/clusters" 2>"$scratch/why"
if [ -n "$host" ]; then
    all=$(grep -c "|$host.*::health_flags::" "$scratch/clusters")
    healthy=$(grep -c "|$host.*::health_flags::healthy" "$scratch/clusters")
    if [ "$all" -eq 0 ]; then
        broken endpoints "$host has no endpoint: Service selector, readiness, subset"
    elif [ "$healthy" -eq 0 ]; then
        broken endpoints "none of the $all endpoints of $host is healthy: $(grep "|$host.*::health_flags::" "$scratch/clusters" | sed 's/.*health_flags:://' | sort | uniq -c | tr '\n' ' ')"
    else
        passed endpoints "$healthy of $all endpoints of $host are healthy"
    fi
fi

# 8. identity
if kubectl get peerauthentications.security.istio.io -A --no-headers >"$scratch/peer" 2>"$scratch/why"; then
    passed identity "PeerAuthentications: $(awk '{ print $1 "/" $2 "=" $3 }' "$scratch/peer" | tr '\n' ' ')"
else
    unknown identity "cannot list PeerAuthentications: $(head -n 1 "$scratch/why")"
fi

# 9. authorization
denied=$(grep -E 'rbac.*\.denied: [1-9]' "$scratch/stats")
if [ -n "$denied" ]; then broken authorization "this proxy denied requests: $denied"; else passed authorization "this proxy denied nothing"; fi

# 10. upstream: flags of failed requests in the access log
if kubectl logs -n "$namespace" "$pod" -c istio-proxy --tail=2000 >"$scratch/log" 2>"$scratch/why"; then
    flags=$(sed -nE 's/^\[[^]]*\] "[^"]*" ([0-9]+) ([A-Z,]+) ([^ ]+) .*/\1 \2 \3/p' "$scratch/log" | sort | uniq -c | sort -rn | head -n 5)
    if [ -n "$flags" ]; then broken upstream "flags in the access log:"; echo "$flags"; else passed upstream "no flag in the last 2000 lines"; fi
else
    unknown upstream "cannot read the proxy's log: $(head -n 1 "$scratch/why")"
fi

# 11. telemetry
curl -sS --max-time 20 -X POST "$admin/logging" >"$scratch/logging" 2>"$scratch/why"
loud=$(grep -cE ': (trace|debug)$' "$scratch/logging")
if [ "$loud" -gt 0 ]; then broken telemetry "$loud components log at debug or trace"; else passed telemetry "no component logs at debug"; fi
exit "$failed"
