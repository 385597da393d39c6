#!/usr/bin/env bash
# How soon the processes are ready, and what they cost while nothing happens.
#   bin/bench idle [--seconds N] [--runs K]
# From start to the first request answered (gateway) or to "ready for work" (worker): medians of K starts. CPU as milliseconds a
# second of idling, after a first push, for Redis with both beside it.
source "$(dirname "$0")/lib/bench.sh"

seconds=30 runs=5
options "seconds runs" "$@"

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
follow match 0 1000
settled "$(publish match)" >"$work/ledger"
sleep 1
before=("$(cpu "$pid_gateway")" "$(cpu "$pid_worker")" "$(cpu "$pid_redis")")
commands() { redis INFO stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p'; }
asked=$(commands)
sleep "$seconds"
after=("$(cpu "$pid_gateway")" "$(cpu "$pid_worker")" "$(cpu "$pid_redis")")
asked=$(($(commands) - asked))

printf '%-10s %10s %24s %12s\n' process 'ready ms' 'idle CPU ms a second' 'memory MB'
index=0
for name in gateway worker redis; do
    pid="pid_$name"
    ready=-
    [ "$name" = redis ] || ready=$(median <"$work/ready.$name")
    printf '%-10s %10s %24s %12s\n' "$name" "$ready" "$(ratio $((after[index] - before[index])) $((seconds * 1000)))" \
        "$(peak "${!pid}")"
    index=$((index + 1))
done
echo "commands to Redis a second meanwhile: $((asked / seconds))"
busy
