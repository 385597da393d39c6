#!/usr/bin/env bash
# What fleets of 1 to 200 workers and 1 to 30 nodes of Redis do, and what four large cases need: a simulation, in twenty seconds.
#   bin/bench scale [--table worker|final|alert|orders|crowd|plan]… [--set NAME=VALUE]…
#   bin/bench scale --check      beside the measured rows of Benchmarks/measurements.md
#   bin/bench scale --list       the parameters, with the source of each
#   bin/bench scale --write      puts the tables into Benchmarks/simulation.md
#   bin/bench scale --measure    what the simulation needs and no other benchmark prints
# Benchmarks/Scale/parameters.txt has the numbers that go in, Benchmarks/Scale/scale.py says what is modelled and what is left out.
# Benchmarks/simulation.md explains the tables. Only --measure starts processes; it builds lamplighter.
set -euo pipefail
if [ "${1:-}" != --measure ]; then
    exec python3 -B "$(dirname "$0")/Scale/scale.py" "$@"
fi

source "$(dirname "$0")/lib/bench.sh"
names=2000
nice -n 5 python3 -B Benchmarks/Scale/queue_cost.py
build lamplighter
start_redis
unset LAMPLIGHTER_PACING_MIN_INTERVAL # The default: a name comes round after its interval.
start_simulator --fast
start_gateway
start_worker worker
printf '{"token":"{token}"}' >"$work/track"
plain_body 'order-{m}' >"$work/body"
# Without what passes through.
used() {
    redis INFO memory | tr -d '\r' | awk -F: '
        $1 == "used_memory" { sum += $2 } $1 == "mem_clients_normal" || $1 == "mem_aof_buffer" { sum -= $2 } END { print sum }'
}
# each COUNT OPTIONS…: so many requests, one name after the other; waits for the end of all work and of the reconciler's looks.
each() {
    load --header "$(basic master)" --header 'Content-Type: application/json' --modulus "$names" --rate "$names" \
        --connections 16 --count "$@" >"$work/line" || fail "not all were accepted"
    until [ "$(redis XLEN 'll:{q}:bench:10')" = 0 ] && [ "$(redis ZCARD 'll:{q}:bench:open')" = 0 ]; do sleep 0.1; done
}
# The index packs what is ten seconds old, 1,024 entries with each 64th push; these pushes are counted with the others.
packing=640
each_push() {
    local round
    for ((round = 0; round < $1; round++)); do each "$names" --path /api/push --body "$work/body"; done
    sleep 10
    each "$packing" --path /api/push --body "$work/body"
}
empty=$(used)
each "$names" --method PUT --path '/api/activities/order-{m}/channels/{channel}' --body "$work/track"
followed=$(used)
each_push 1
first=$(used)
each_push 4
pushed=$((($(used) - first) / (4 * names + packing)))
echo "bytes of Redis: a followed name $(((followed - empty) / names)), on top once it has had a push" \
    "$(((first - followed - pushed * (names + packing)) / names)), each push $pushed"
busy
