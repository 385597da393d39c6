#!/usr/bin/env bash
# How soon the processes are ready, and what they cost while nothing happens.
#   bin/bench idle [--seconds N] [--runs K] [--apps M] [--settle N]
# From start to the first request answered (gateway) or to "ready for work" (worker): medians of K starts. Then, after a first push,
# the idle cost with one app, and with M: CPU as milliseconds a second, for Redis with both beside it, and the commands a second by
# name. Commands of scripts count too. --settle: seconds before the figures, because a worker that has started claims what others may have
# left, for three times worker.claim_after.
source "$(dirname "$0")/lib/bench.sh"

seconds=60 runs=5 apps=50 settle=45
options "seconds runs apps settle" "$@"

build lamplighter
start_redis
start_simulator --fast
since() { echo $((($(date +%s%N) - $1) / 1000000)); }
for ((run = 1; run <= runs; run++)); do
    began=$(date +%s%N)
    start_gateway
    await "the gateway" curl -fsS "$LAMPLIGHTER_GATEWAY_URL/readyz"
    since "$began" >>"$work/ready.gateway"
    began=$(date +%s%N)
    start_worker worker
    since "$began" >>"$work/ready.worker"
    if [ "$run" -lt "$runs" ]; then
        stop worker
        stop gateway
    fi
done
for name in gateway worker; do echo "$name ready after $(median <"$work/ready.$name") ms"; done

# calls: each command's name and how often Redis has run it. What asks for these figures does not count.
calls() { redis INFO commandstats | tr -d '\r' | sed -n 's/^cmdstat_\([^:]*\):calls=\([0-9]*\),.*/\1 \2/p' | grep -v '^info ' | sort; }
# measure APPS: what the processes cost while nothing happens.
measure() {
    sleep "$settle"
    local name pid before
    for name in gateway worker redis; do
        pid="pid_$name"
        printf -v "cpu_$name" '%s' "$(cpu "${!pid}")"
    done
    calls >"$work/before"
    sleep "$seconds"
    calls >"$work/after"
    printf '\n%s: %s apps\n%-10s %24s %12s\n' idle "$1" process 'CPU ms a second' 'memory MB'
    for name in gateway worker redis; do
        pid="pid_$name" before="cpu_$name"
        printf '%-10s %24s %12s\n' "$name" "$(ratio $(($(cpu "${!pid}") - ${!before})) $((seconds * 1000)))" "$(peak "${!pid}")"
    done
    join -a 2 -e 0 -o 0,1.2,2.2 "$work/before" "$work/after" | awk -v seconds="$seconds" '
        { rate = ($3 - $2) / seconds; sum += rate; if (rate > 0) lines[++n] = sprintf("%9.2f %s", rate, $1) }
        END {
            printf "commands to Redis a second: %.1f\n", sum
            fflush()
            for (i = 1; i <= n; i++) print lines[i] | "sort -rn"
        }'
}

follow match 0 1000
settled "$(publish match)" >"$work/ledger"
measure 1
if [ "$apps" -gt 1 ]; then
    stop worker
    stop gateway
    {
        echo "apps:"
        for ((app = 1; app <= apps; app++)); do
            printf '  - {key: bench-%s, secret: bench-secret, master_secret: bench-master, bundle_id: com.example.scores,\n' "$app"
            printf '     apns: {url: "%s", ca_file: %s, key_file: %s, key_id: %s, team_id: %s}}\n' "$LAMPLIGHTER_APNS_URL" \
                "$LAMPLIGHTER_APNS_CA_FILE" "$LAMPLIGHTER_APNS_KEY_FILE" "$LAMPLIGHTER_APNS_KEY_ID" "$LAMPLIGHTER_APNS_TEAM_ID"
        done
    } >"$work/lamplighter.yaml"
    unset "${!LAMPLIGHTER_APP_@}" "${!LAMPLIGHTER_APNS_@}"
    start_gateway
    start_worker worker
    measure "$apps"
fi
busy
