#!/usr/bin/env bash
# From the 202 of a push to one token until it arrives at APNs: idle, and while a push to a large name runs.
#   bin/bench latency [--tokens N] [--count N] [--rate R] [--latency MS] [--transports "nghttp2 libcurl"] [--lanes N]
# --count publishes at --rate a second in each state, each to a name of its own; the large name has --tokens tokens, and the next
# push to it waits whenever one ends. The simulator notes when each arrived, to the millisecond, and answers --latency ms later.
source "$(dirname "$0")/lib/bench.sh"

tokens=1000000 count=1000 rate=50 latency=50 transports="nghttp2 libcurl" lanes=2
options "tokens count rate latency transports lanes" "$@"
# Nothing is bound to a core: on one with the simulator, which is busy, Redis would answer when that rests.
core0=() core1=() gateway_core=()

build lamplighter
start_redis
start_simulator --latency "$latency" --history 1
start_gateway
auth=$(basic master)
follow large 0 "$tokens"
first=100000000
printf '{"token":"{token}"}' >"$work/track"
printf '{token}\n' >"$work/token"
publish_body 'small-{n}' >"$work/small"
rounds=0

# round ROW: publishes to new names, and what the time to their arrival was.
round() {
    local row="$1"
    load --method PUT --path '/api/activities/small-{n}/channels/{channel}' --header "$auth" --body "$work/track" \
        --first "$first" --count "$count" --connections 4 >"$work/line" || fail "no registrations"
    [ "$row" = idle ] || busy_with_large
    load --path /api/push --header "$auth" --body "$work/small" --first "$first" --count "$count" --rate "$rate" \
        --connections 16 --log "$work/answers" >"$work/line" || fail "not all were accepted"
    [ "$row" = idle ] || large_is_over
    "$work/load" --print --body "$work/token" --first "$first" --count "$count" |
        sed "s|.*|url = \"$control/simulator/tokens/&\"\noutput = \"-\"|" >"$work/urls"
    local tries=0
    while :; do
        curl -s -K "$work/urls" | sed -n 's/.*"arrived_at_ms":\([0-9]*\).*/\1/p' >"$work/arrivals" || true
        [ "$(wc -l <"$work/arrivals")" -lt "$count" ] || break
        tries=$((tries + 1))
        [ "$tries" -lt 60 ] || fail "$(wc -l <"$work/arrivals") of $count arrived"
        sleep 1
    done
    sort -n "$work/answers" | paste -d ' ' - "$work/arrivals" | 
        awk '{ print $NF - int($3 / 1000), $NF - int($2 / 1000) }' >"$work/times"
    echo "$(share 1 0.5) $(share 1 0.99) $(share 1 1) $(share 2 0.5) $(share 2 0.99)" >>"$work/$transport.$row"
    first=$((first + count))
}
share() { cut -d ' ' -f "$1" "$work/times" | sort -n | awk -v of="$2" '{ v[NR] = $1 } END { print v[int((NR - 1) * of) + 1] }'; }
# Three pushes in line, so that one always runs.
busy_with_large() {
    large=("$(publish large)" "$(publish large)" "$(publish large)")
    began=$(date +%s%N)
    until [[ "$(ledger "${large[0]}")" != *'"delivered":0'* ]]; do sleep 0.05; done
}
large_is_over() {
    local id sum=0 said
    said=$(ledger "${large[2]}")
    [ "$(text state <<<"$said")" != done ] || echo "bench: the pushes to the large name were over before the end: more --tokens" >&2
    for id in "${large[@]}"; do sum=$((sum + $(ledger "$id" | field delivered))); done
    ratio "$sum"000000000 $(($(date +%s%N) - began)) %.0f >"$work/$transport.rate"
    for id in "${large[@]}"; do
        curl -fsS -o "$work/cancelled" -u bench:bench-master -X DELETE "$LAMPLIGHTER_GATEWAY_URL/api/push/$id"
    done
}

figure='%-10s %-8s %16s %12s %12s %12s %16s %16s\n'
printf "$figure" transport state 'beside it, sent/s' 'p50 ms' 'p99 ms' 'max ms' 'p50 of all ms' 'p99 of all ms'
for transport in $transports; do
    export LAMPLIGHTER_WORKER_TRANSPORT=$transport LAMPLIGHTER_WORKER_LANES=$lanes
    start_worker worker
    for row in idle during; do
        round "$row"
        read -r middle high most all_middle all_high <"$work/$transport.$row"
        beside=-
        [ "$row" = idle ] || beside=$(cat "$work/$transport.rate")
        printf "$figure" "$transport" "$row" "$beside" "$middle" "$high" "$most" "$all_middle" "$all_high"
    done
    stop worker
done
echo "p50, p99, max: from the 202 to the arrival; of all: from the publish to the arrival"
busy
