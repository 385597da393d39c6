#!/usr/bin/env bash
# Many names that are published again and again, as a feed of matches does: from the 202 to the arrival, and what grows.
#   bin/bench feed [--names N] [--tokens N] [--seconds S] [--latency MS] [--silent N] [--transport nghttp2|libcurl]
# Each name has --tokens tokens and is published once a second. Every update is sent, none supersedes another. Arrivals are those of
# one token of each name, to the millisecond; the simulator answers --latency ms later, and --silent other tokens never. One
# of a thousand is usual. Nothing is bound to a core.
source "$(dirname "$0")/lib/bench.sh"

names=500 tokens=20 seconds=60 latency=20 silent=0 transport=nghttp2
options "names tokens seconds latency silent transport" "$@"
core0=() core1=() gateway_core=()

build lamplighter
start_redis
start_simulator --latency "$latency" --history "$((seconds + 1))"
start_gateway
export LAMPLIGHTER_WORKER_TRANSPORT=$transport
start_worker worker
auth=$(basic master)
printf '{"token":"{token}"}' >"$work/track"
printf '{token}\n' >"$work/token"
load --method PUT --path '/api/activities/feed-{m}/channels/{channel}' --header "$auth" --body "$work/track" --modulus "$names" \
    --count $((names * tokens)) --connections 8 >"$work/line" || fail "no registrations"
publish_body 'feed-{m}' >"$work/body"
[ "$silent" -le $((names * (tokens - 1))) ] || fail "--silent: one token of each name must be answered"
[ "$silent" = 0 ] || silence $((names * tokens - silent)) "$silent"

# Keys, Redis's memory, resident memory of worker and gateway in MB, entries that wait.
sizes() {
    local waiting=0 key
    for key in 'll:{q}:bench:10' 'll:{q}:bench:5'; do waiting=$((waiting + $(redis XLEN "$key"))); done
    echo "$(redis DBSIZE) $(redis INFO memory | tr -d '\r' | awk -F: '$1 == "used_memory" { printf "%.1f", $2 / 1000000 }')" \
        "$(peak "$pid_worker") $(peak "$pid_gateway") $waiting"
}
# Half a minute warms what is allocated once; what grows behind it would grow for ever.
begun=$(cpu "$pid_gateway")
load --path /api/push --header "$auth" --body "$work/body" --modulus "$names" --count $((names * seconds)) --rate "$names" \
    --connections 32 --log "$work/answers" >"$work/line" &
publisher=$!
printf '%-8s %10s %10s %10s %11s %9s\n' second keys 'Redis MB' 'worker MB' 'gateway MB' waiting
for part in 1 2 3 4; do
    sleep "$(ratio $((seconds)) 4)"
    printf '%-8s %10s %10s %10s %11s %9s\n' $((part * seconds / 4)) $(sizes)
done
wait "$publisher" || fail "not all were accepted"
until [ "$(sizes | cut -d ' ' -f 5)" = 0 ]; do sleep 0.1; done

"$work/load" --print --body "$work/token" --count "$names" |
    sed "s|.*|url = \"$control/simulator/tokens/&\"\noutput = \"-\"|" >"$work/urls"
curl -s -K "$work/urls" >"$work/reports" || fail "no reports"
# One line a name, in the order of the names: its arrivals, in the order in which they were sent.
grep -o '"arrived_at_ms":[0-9]*\|"token":"[^"]*"' "$work/reports" | awk -F : '
    $1 == "\"token\"" { name++; next } { print name - 1, ++count[name], $2 }' >"$work/arrivals"
[ "$(wc -l <"$work/arrivals")" = $((names * seconds)) ] ||
    fail "$(wc -l <"$work/arrivals") of $((names * seconds)) arrived, each once"
sort -n "$work/answers" | awk -v names="$names" '
    NR == FNR { arrived[$1, $2] = $3; next }
    { print arrived[$1 % names, int($1 / names) + 1] - int($3 / 1000) }' "$work/arrivals" - | sort -n >"$work/times"
share() { awk -v of="$1" '{ v[NR] = $1 } END { print v[int((NR - 1) * of) + 1] }' "$work/times"; }
count=$((names * seconds))
echo
echo "from the 202 to the arrival, $count publishes to $tokens tokens each: p50 $(share 0.5) ms, p99 $(share 0.99) ms, max $(share 1) ms"
echo "CPU a publish: gateway $((($(cpu "$pid_gateway") - begun) / count)) µs, worker $(($(cpu "$pid_worker") / count)) µs," \
    "Redis $(($(cpu "$pid_redis") / count)) µs"
busy
