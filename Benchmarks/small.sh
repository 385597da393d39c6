#!/usr/bin/env bash
# What a push to a name with one token costs, beside the least that such a pipeline can be and beside a job queue.
#   bin/bench small [--count N] [--runs K] [--names N] [--publishers "1 8 32"] [--transport nghttp2|libcurl] [--jobs yes|no] [--kinds yes|no]
# Everything shares all cores, and Redis forces each turn to the disk. `bare` is a Hummingbird handler with one XADD, and a loop of
# XREADGROUP, one request on a lane, XACK and XDEL. `floor` is a gateway and a worker in C, which keep what a push keeps and send
# nothing (Bare/floor.c). `BullMQ` adds and processes jobs with its Python client, which is fetched from PyPI (--jobs no: not).
# Calls of Redis count those inside scripts; calls and reads are those of pushes that come one after another, less those of idle
# processes. A read is a turn in which Redis reads from a connection: about a round trip. `busy reads` are those of a push while as
# many come as can: names that are under way together share them. With one publisher a quarter of the pushes is sent.
# The defaults take more than seven minutes on two cores; a look takes less: --count 8000 --names 4000 --runs 1 --publishers "1 32" --kinds no.
source "$(dirname "$0")/lib/bench.sh"

count=20000 runs=3 names=10000 publishers="1 8 32" transport=nghttp2 jobs=yes kinds=yes
options "count runs names publishers transport jobs kinds" "$@"
core0=() core1=() gateway_core=()
calm=500 rate=100

build lamplighter SendBenchmark
start_redis
unset LAMPLIGHTER_PACING_MIN_INTERVAL # The default: a name comes round after its interval.
start_simulator --fast
export LAMPLIGHTER_WORKER_TRANSPORT=$transport
start_gateway
start_worker worker
auth=$(basic master)
follow_each "$names"
compile floor -lhiredis
"$work/floor" names "$work/redis.sock" "$names"
plain_body 'order-{m}' >"$work/body"
# What else publishers send. These rows show calls and reads only.
if [ "$kinds" = yes ]; then kinds="alert low unpaced followers hundredth"; else kinds=""; fi
sed 's/"event":"update",/&"alert":{"title":"Goal","body":"2:1"},/' "$work/body" >"$work/body.alert"
sed 's/"event":"update",/&"priority":5,/' "$work/body" >"$work/body.low"
publish_body 'order-{m}' >"$work/body.unpaced" # "conflate": false
plain_body 'trio-{m}' >"$work/body.followers" # three of each name
plain_body 'feed-{m}' >"$work/body.hundredth"
payload "$work/payload"
key=(--key-file "$LAMPLIGHTER_APNS_KEY_FILE" --key-id "$LAMPLIGHTER_APNS_KEY_ID" --team-id "$LAMPLIGHTER_APNS_TEAM_ID")
start bare_gateway "$bin/SendBenchmark" gateway --redis "$LAMPLIGHTER_REDIS_URL"
await "the bare gateway" grep -q . "$work/bare_gateway.out"
start bare_worker "$bin/SendBenchmark" worker "${key[@]}" --redis "$LAMPLIGHTER_REDIS_URL" --transport "$transport" \
    --port "${LAMPLIGHTER_APNS_URL##*:}" --ca-file "$LAMPLIGHTER_APNS_CA_FILE" --body-file "$work/payload"
start floor_gateway "$work/floor" gateway "$work/redis.sock"
await "the gateway in C" grep -q . "$work/floor_gateway.out"
start floor_worker "$work/floor" worker "$work/redis.sock"
if [ "$jobs" = yes ]; then
    python3 -m venv "$work/venv" >"$work/venv.log" && "$work/venv/bin/pip" install -q bullmq >"$work/pip.log" 2>&1 ||
        fail "BullMQ cannot be installed; --jobs no leaves it out"
fi

# Each row: PUBLISH COUNT CONNECTIONS [RATE] sends pushes and waits until all are done.
push_ours() { publishes "$port" /api/push "$@" && wait_empty 'll:{q}:bench:10' 'll:{q}:bench:5'; }
push_bare() { publishes "$(cat "$work/bare_gateway.out")" /push "$@" && wait_empty bare; }
push_floor() { publishes "$(cat "$work/floor_gateway.out")" /push "$@" && wait_empty floor; }
push_jobs() {
    "$work/venv/bin/python" Benchmarks/Bare/jobs.py "$LAMPLIGHTER_REDIS_URL" "$1" "$2" "$work/body" >"$work/line"
}
publishes() {
    local port=$1 path=$2 count=$3 connections=$4 rate=${5:-0}
    load --path "$path" --header "$auth" --header 'Content-Type: application/json' --body "${body:-$work/body}" --modulus "${round:-$names}" \
        --connections "$connections" --count "$count" --rate "$rate" >"$work/line" || fail "not all were accepted"
}
wait_empty() {
    local key
    for key in "$@"; do until [ "$(redis XLEN "$key")" = 0 ]; do sleep 0.01; done; done
}
# What Redis did so far: calls of commands, reads from connections.
did() {
    redis INFO commandstats | tr -d '\r' | sed -n 's/^cmdstat_.*:calls=\([0-9]*\),.*/\1/p' | awk '{ sum += $1 } END { print sum }'
    redis INFO stats | tr -d '\r' | sed -n 's/^total_reads_processed:\([0-9]*\)$/\1/p'
}
# counted ROW [PUSH]: calls and reads of one push, of which one is under way at a time.
counted() {
    local before after idle
    # Half a minute after a push the reconciler looks at its name, in some six calls. They are in no row.
    until [ "$(redis ZCARD 'll:{q}:bench:open')" = 0 ]; do sleep 0.2; done
    mapfile -t before < <(did)
    sleep "$((calm / rate))"
    mapfile -t idle < <(did)
    "push_${2:-$1}" "$calm" 1 "$rate"
    mapfile -t after < <(did)
    for part in 0 1; do ratio $((after[part] - 2 * idle[part] + before[part])) "$calm"; echo; done | paste -sd ' ' >"$work/calls.$1"
}
clocks() { echo "$(cpu "$pid_redis") $(cpu "$1") $(cpu "$2") $(date +%s%N) $(did | tail -n 1)"; }
# measured ROW GATEWAY WORKER: microseconds of CPU a push, pushes a second, and reads a push, for $connections publishers.
measured() {
    local before after part pushes=$((connections > 1 ? count : count / 4)) figures="$work/figures.$1.$connections"
    read -ra before < <(clocks "$2" "$3")
    "push_$1" "$pushes" "$connections"
    read -ra after < <(clocks "$2" "$3")
    for part in 0 1 2; do printf '%s ' "$(((after[part] - before[part]) / pushes))"; done >>"$figures"
    ratio "${pushes}000000000" $((after[3] - before[3])) '%.0f ' >>"$figures"
    ratio $((after[4] - before[4])) "$pushes" >>"$figures"
    echo >>"$figures"
}
# follow_round PREFIX NAMES FOLLOWERS: PREFIX-0 … have so many followers each.
follow_round() {
    load --method PUT --path "/api/activities/$1-{m}/channels/{channel}" --modulus "$2" --count $(($2 * $3)) --header "$auth" \
        --body "$work/track" --connections 8 >"$work/line" || fail "no registrations"
}

rows="ours bare floor"
[ "$jobs" = no ] || rows+=" jobs"
# Ours last: the reconciler looks at its names later, in the middle of what is counted then.
for row in bare floor ours; do
    "push_$row" "$names" 32 # connections, names, first allocations
    # From the third push of a name on nothing is new.
    "push_$row" "$names" 32
    counted "$row"
done
[ "$jobs" = no ] || counted jobs
for kind in $kinds; do
    round=$names
    case "$kind" in
    followers)
        round=$calm
        follow_round trio "$round" 3
        body="$work/body.$kind" round=$round push_ours $((2 * round)) 1 "$rate"
        ;;
    hundredth)
        round=$((rate * 5 / 4)) # A name comes round after its interval, which is a second.
        follow_round feed "$round" 1
        body="$work/body.$kind" round=$round push_ours $((99 * round)) 1 "$rate"
        ;;
    esac
    body="$work/body.$kind" round=$round counted "$kind" ours
done
for ((run = 1; run <= runs; run++)); do
    for connections in $publishers; do
        measured ours "$pid_gateway" "$pid_worker"
        measured bare "$pid_bare_gateway" "$pid_bare_worker"
        measured floor "$pid_floor_gateway" "$pid_floor_worker"
        # Its processes are Python's, which says nothing about ours: the columns of gateway and worker stay empty.
        [ "$jobs" = no ] || measured jobs "$pid_redis" "$pid_redis"
    done
    echo "run $run of $runs" >&2
done

figure='%-10s %12s %12s\n'
printf "$figure" row 'Redis calls' 'Redis reads'
for row in $rows $kinds; do
    read -r calls reads <"$work/calls.$row"
    printf "$figure" "${row/jobs/BullMQ}" "$calls" "$reads"
done
figure='%-10s %10s %12s %12s %12s %12s %12s %14s %14s\n'
printf "\n$figure" row publishers 'busy reads' 'Redis µs' 'gateway µs' 'worker µs' pushes/s 'all / floor' 'Redis / BullMQ'
for connections in $publishers; do
    for row in $rows; do
        figures="$work/figures.$row.$connections" gateway=- worker=- floor=- queue=-
        if [ "$row" != jobs ]; then
            gateway=$(column 2 "$figures") worker=$(column 3 "$figures")
            # Ratios of a run, because the machine is another one in the next minute.
            floor=$(paste -d ' ' "$figures" "$work/figures.floor.$connections" | awk '{ print ($1 + $2 + $3) / ($6 + $7 + $8) }' | median)
            [ "$jobs" = no ] || queue=$(paste -d ' ' "$figures" "$work/figures.jobs.$connections" | awk '{ print $1 / $6 }' | median)
        fi
        printf "$figure" "${row/jobs/BullMQ}" "$connections" "$(column 5 "$figures")" "$(column 1 "$figures")" "$gateway" "$worker" \
            "$(column 4 "$figures")" "$floor" "$queue"
    done
done
busy
