#!/usr/bin/env bash
# Updates of one large name while some phones' requests are never answered: when each update is at all other phones.
#   bin/bench silent [--tokens N] [--shares "PERCENT …"] [--pushes N] [--every-ms N] [--latency MS] [--runs N]
#                    [--transports "nghttp2 libcurl"] [--dead PERCENT] [--fresh TOKENS]
# --pushes updates, --every-ms apart, to a name of --tokens tokens, and the same once more with a share of tokens whose requests
# the simulator never answers: --runs such pairs for each share. The time is that from the 202 until the simulator has accepted
# the update for all other tokens. "over": updates that took more than 1.5 times the median of the pair without silent tokens and
# a second. "never": updates that were not there in 30 s.
# --dead: so many of the tokens are dead in each half of a pair, and registered again before the next.
# --fresh: instead, each worker is a new one. An update to the large name is its first work, and one to another name of so many
# tokens, none of them silent, comes right behind: when each is at all phones that are not silent.
source "$(dirname "$0")/lib/bench.sh"

tokens=3000 shares="1 5 10 20 40" pushes=6 every_ms=3000 latency=20 runs=1 transports="nghttp2 libcurl" dead=0 fresh=0
options "tokens shares pushes every_ms latency runs transports dead fresh" "$@"
# Nothing is bound to a core. Updates are paced as they are by default: less than a second apart they would wait for that.
core0=() core1=() gateway_core=()

build lamplighter
start_redis
unset LAMPLIGHTER_PACING_MIN_INTERVAL
start_simulator --latency "$latency"
start_gateway
dead=$((tokens * dead / 100))
follow large 0 "$tokens"
# What publishers send.
publish_plain() { plain_body large | post_push; }
now() { echo $(($(date +%s%N) / 1000000)); }
# The first of the record's members.
arrived() { curl -fsS "$control/simulator/record" | sed "s|^{\"accepted\":\([0-9]*\).*|\1|"; }

# series SILENT FILE: a line for each update, milliseconds. Nobody waits for anything before and after it.
series() {
    local push id at accepted before
    [ "$dead" = 0 ] || follow large 0 "$tokens"
    silence 0 "$1" "$dead"
    for ((push = 0; push < pushes; push++)); do
        before=$(arrived)
        at=$(now)
        id=$(publish_plain)
        accepted=$(now)
        until [ $(($(arrived) - before)) -ge $((tokens - $1 - dead)) ] || [ $(($(now) - accepted)) -gt 30000 ]; do sleep 0.01; done
        echo $(($(now) - accepted)) >>"$2"
        [ $(($(now) - accepted)) -le 30000 ] || echo "update $push: $(($(arrived) - before)) of $((tokens - $1 - dead)) in 30 s" >&2
        local left=$((every_ms - ($(now) - at)))
        [ "$left" -le 0 ] || sleep "$(ratio "$left" 1000 %.3f)"
    done
    silence 0 0
    until [ "$(ledger "$id" | field delivered)" = $((tokens - dead)) ]; do sleep 0.05; done
}

# first SILENT: the work of a new worker.
first() {
    local before begun other
    silence 0 "$1"
    start_worker worker
    before=$(arrived) begun=$(now)
    publish_plain >"$work/id"
    other=$(plain_body other | post_push)
    until [ "$(ledger "$other" | field delivered)" = "$fresh" ]; do sleep 0.02; done
    other=$(($(now) - begun))
    until [ $(($(arrived) - before)) -ge $((tokens - $1 + fresh)) ]; do sleep 0.02; done
    printf '%-9s %7s %7s | %9s %9s\n' "$transport" "$tokens" "$1" $(($(now) - begun)) "$other"
    silence 0 0
    until [ "$(ledger "$(cat "$work/id")" | field delivered)" = "$tokens" ]; do sleep 0.1; done
    stop worker
}
if [ "$fresh" -gt 0 ]; then
    follow other "$tokens" "$fresh"
    printf '%-9s %7s %7s | %9s %9s\n' transport tokens silent ms 'other ms'
    for transport in $transports; do
        export LAMPLIGHTER_WORKER_TRANSPORT=$transport
        for share in $shares; do
            for ((run = 0; run < runs; run++)); do first $((tokens * share / 100)); done
        done
    done
    busy
    exit
fi

figure='%-9s %7s %7s | %9s %9s %6s | %9s %9s | %5s %6s | %7s %7s\n'
printf "$figure" transport tokens silent without with ratio 'max with' 'max w/o' over never 'µs w/o' 'µs with'
for transport in $transports; do
    export LAMPLIGHTER_WORKER_TRANSPORT=$transport
    start_worker worker
    # The first push opens the connections.
    each=$pushes pushes=1
    series 0 "$work/first"
    pushes=$each
    for share in $shares; do
        silent=$((tokens * share / 100)) cpu_without=0 cpu_with=0
        rm -f "$work/without" "$work/with"
        for ((run = 0; run < runs; run++)); do
            begun=$(cpu "$pid_worker")
            series 0 "$work/without"
            between=$(cpu "$pid_worker")
            series "$silent" "$work/with"
            cpu_without=$((cpu_without + between - begun)) cpu_with=$((cpu_with + $(cpu "$pid_worker") - between))
        done
        without=$(median <"$work/without") with=$(median <"$work/with") sent=$((runs * pushes * tokens))
        over=$(awk -v without="$without" '$1 > 1.5 * without + 1000' "$work/with" | wc -l)
        never=$(awk '$1 > 30000' "$work/with" | wc -l)
        printf "$figure" "$transport" "$tokens" "$silent" "$without" "$with" "$(ratio "$with" "$without" %.2f)" \
            "$(sort -n "$work/with" | tail -n 1)" "$(sort -n "$work/without" | tail -n 1)" "$over" "$never" \
            "$(ratio "$cpu_without" "$sent")" "$(ratio "$cpu_with" "$sent")"
        echo "without: $(paste -sd ' ' "$work/without"); with: $(paste -sd ' ' "$work/with")" >&2
    done
    stop worker
done
busy
