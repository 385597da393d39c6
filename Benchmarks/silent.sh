#!/usr/bin/env bash
# Updates of one large name while some phones' requests are never answered: when each update is at all other phones.
#   bin/bench silent [--tokens N] [--silent N] [--pushes N] [--every-ms N] [--latency MS] [--transports "nghttp2 libcurl"]
# --pushes updates, --every-ms apart, to a name of --tokens tokens; first with nobody silent, then with --silent tokens whose
# requests the simulator never answers. The time is that from the 202 until the ledger has all deliveries that can be.
source "$(dirname "$0")/lib/bench.sh"

tokens=3003 silent=3 pushes=10 every_ms=1300 latency=20 transports="nghttp2 libcurl"
options "tokens silent pushes every_ms latency transports" "$@"
# Nothing is bound to a core. Updates are paced as they are by default: less than a second apart they would wait for that.
core0=() core1=() gateway_core=()

build lamplighter
start_redis
unset LAMPLIGHTER_PACING_MIN_INTERVAL
start_simulator --latency "$latency"
start_gateway
follow large 0 "$tokens"
# What publishers send.
publish_plain() { plain_body large | post_push; }
now() { echo $(($(date +%s%N) / 1000000)); }

figure='%-10s %8s %8s %10s %10s %10s %16s %15s\n'
printf "$figure" transport tokens silent 'median ms' 'max ms' 'sent late' 'worker µs/token' 'Redis µs/token'
for transport in $transports; do
    export LAMPLIGHTER_WORKER_TRANSPORT=$transport
    start_worker worker
    # The first push opens the connections.
    silence 0 0
    id=$(publish_plain)
    until [ "$(ledger "$id" | field delivered)" = "$tokens" ]; do sleep 0.05; done
    for count in 0 "$silent"; do
        silence 0 "$count"
        rm -f "$work/times"
        late=0 begun=$(cpu "$pid_worker") redis=$(cpu "$pid_redis")
        for ((push = 0; push < pushes; push++)); do
            at=$(now)
            id=$(publish_plain)
            accepted=$(now)
            until [ "$(ledger "$id" | field delivered)" = $((tokens - count)) ]; do
                [ $(($(now) - accepted)) -lt 30000 ] || fail "not delivered: $(ledger "$id")"
                sleep 0.01
            done
            took=$(($(now) - accepted))
            echo "$took" >>"$work/times"
            [ "$took" -lt "$every_ms" ] || late=$((late + 1))
            left=$((every_ms - ($(now) - at)))
            [ "$left" -le 0 ] || sleep "$(ratio "$left" 1000 %.3f)"
        done
        printf "$figure" "$transport" "$tokens" "$count" "$(median <"$work/times")" "$(sort -n "$work/times" | tail -n 1)" "$late" \
            "$(ratio $(($(cpu "$pid_worker") - begun)) $((pushes * tokens)))" \
            "$(ratio $(($(cpu "$pid_redis") - redis)) $((pushes * tokens)))"
        echo "each, ms: $(paste -sd ' ' "$work/times")" >&2
    done
    # What is open ends, so that the next transport begins with nothing.
    silence 0 0
    stop worker
done
busy
