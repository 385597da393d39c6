#!/usr/bin/env bash
# The commands that a push to a name of one token takes of each node of a cluster of three, with a gateway and a worker.
#   bin/bench cluster [--count N] [--names N]
# Commands inside scripts count. What idle processes do meanwhile is taken off. `streams` are those that add, read and acknowledge
# entries of the streams of work, which wake workers.
source "$(dirname "$0")/lib/bench.sh"

count=5000 names=2000
options "count names" "$@"
core0=() core1=() gateway_core=()

build lamplighter
start_cluster
start_simulator --fast
start_gateway
start_worker worker
auth=$(basic master)
follow_each "$names"
publish_body 'order-{m}' >"$work/body"

# push COUNT: until all are done.
push() {
    load --path /api/push --header "$auth" --header 'Content-Type: application/json' --body "$work/body" --modulus "$names" \
        --connections 32 --count "$1" >"$work/line" || fail "not all were accepted"
    local tag
    for tag in q q1 q2 q3 q4 q5 q6 q7; do
        until [ "$(redis-cli -c -p "${nodes[0]}" XLEN "ll:{$tag}:bench:10")" = 0 ]; do sleep 0.05; done
    done
}
# calls NODE: of all commands, and of those with streams of work.
calls() {
    redis-cli -p "$1" INFO commandstats | tr -d '\r' | sed -n 's/^cmdstat_\([^:]*\):calls=\([0-9]*\),.*/\1 \2/p' |
        awk '{ all += $2 } $1 ~ /^x(add|readgroup|ack|del)$/ { streams += $2 } END { print all + 0, streams + 0 }'
}
all_calls() { for node in "${nodes[@]}"; do calls "$node"; done | paste -sd ' '; }

push "$names" # connections, names, first allocations
read -ra idle < <(all_calls)
sleep 5
read -ra before < <(all_calls)
began=$(date +%s%N)
push "$count"
took=$(($(date +%s%N) - began))
read -ra after < <(all_calls)

printf '%-12s %14s %14s\n' node 'calls a push' 'streams a push'
for node in 0 1 2; do
    for part in 0 1; do
        at=$((2 * node + part))
        # The idle five seconds, as long as the pushes took.
        quiet=$(((before[at] - idle[at]) * took / 5000000000))
        used[part]=$(ratio $((after[at] - before[at] - quiet)) "$count")
    done
    printf '%-12s %14s %14s\n' "${nodes[node]}" "${used[0]}" "${used[1]}"
done
echo "$(ratio "${count}000000000" "$took" %.0f) pushes a second"
busy
