#!/usr/bin/env bash
# Publishes a second through the gateway into Redis, and how long each takes at half of that.
#   bin/bench accept [--count N] [--runs K] [--names N] [--connections C] [--audience JSON]
#   bin/bench cluster [--count N] [--names N]     on a cluster of three: the commands of a push, by node
# The gateway on one core; Redis, which forces each turn to the disk, and the publishers on another. Each name has one follower. Pushes are
# taken up by nobody; each replaces the one of its name that waits. Every row is the median of K runs, interleaved. `Redis alone`, where redis-benchmark
# is installed, is a SET of the same body from as many connections: what Redis and its disk take a turn.
source "$(dirname "$0")/lib/bench.sh"

count=30000 runs=5 names=10000 connections=32 audience='"all"'
options "count runs names connections audience" "$@"

build lamplighter
gateway_core=("${core0[@]}")
start_redis
start_gateway
publish_body 'order-{m}' "$audience" | sed 's/"conflate":false/"conflate":true/' >"$work/body"

# publishes COUNT RATE
publishes() {
    load --path /api/push --header "$(basic master)" --header 'Content-Type: application/json' --body "$work/body" \
        --modulus "$names" --connections "$connections" --count "$1" --rate "$2" >"$work/line" || fail "not all were accepted"
}
# note ROW COUNT: figures of one run.
measured() {
    local row="$1" before after
    before=("$(cpu "$pid_gateway")" "$(cpu "$pid_redis")")
    publishes "$2" "$3"
    after=("$(cpu "$pid_gateway")" "$(cpu "$pid_redis")")
    echo "$(field seconds <"$work/line") $(((after[0] - before[0]) / $2)) $(((after[1] - before[1]) / $2))" \
        "$(field p50_us <"$work/line") $(field p99_us <"$work/line") $(field max_us <"$work/line")" >>"$work/$row"
}
bare() {
    local before figures
    before=$(cpu "$pid_redis")
    figures=$("${core1[@]}" redis-benchmark -s "$work/redis.sock" -c "$connections" -n "$count" -r "$names" --csv \
        SET bare:__rand_int__ "$(cat "$work/body")" 2>"$work/bare.log" | tail -n 1) || fail "no redis-benchmark"
    # The command itself, with its commas, and then: requests a second; average, least, p50, p95, p99 and longest ms.
    tr -d '"' <<<"$figures" | awk -F , -v n="$count" -v cpu="$(($(cpu "$pid_redis") - before))" '
        { printf "%.6f 0 %.0f %.0f %.0f %.0f\n", n / $(NF - 6), cpu / n, $(NF - 3) * 1000, $(NF - 1) * 1000, $NF * 1000 }
    ' >>"$work/bare"
}
rows="full half at-2500"
if command -v redis-benchmark >/dev/null; then rows="bare $rows"; fi
# A name without followers would cost the search for similar ones.
follow_each "$names"
publishes "$((count / 5 + names))" 0 # names, connections, first allocations
for ((run = 1; run <= runs; run++)); do
    [[ "$rows" != bare* ]] || bare
    measured full "$count" 0
    rate=$(ratio "$count" "$(column 1 "$work/full")" %.0f)
    measured half $((count / 2)) $((rate / 2))
    measured at-2500 $((count / 2)) 2500
    echo "run $run of $runs" >&2
done

printf '%-12s %12s %12s %10s %9s %9s %9s\n' load publishes/s 'gateway µs' 'Redis µs' 'p50 ms' 'p99 ms' 'max ms'
for row in $rows; do
    sent=$((count / 2)) label=$row gateway=$(column 2 "$work/$row")
    [ "$row" != full ] || sent=$count
    [ "$row" != bare ] || { sent=$count label='Redis alone' gateway=-; }
    printf '%-12s %12s %12s %10s %9s %9s %9s\n' "$label" "$(ratio "$sent" "$(column 1 "$work/$row")" %.0f)" \
        "$gateway" "$(column 3 "$work/$row")" "$(ratio "$(column 4 "$work/$row")" 1000)" \
        "$(ratio "$(column 5 "$work/$row")" 1000)" "$(ratio "$(column 6 "$work/$row")" 1000)"
done
busy
