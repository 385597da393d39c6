#!/usr/bin/env bash
# What a push costs from publish to its last settlement, with the real processes: worker, Redis, gateway, simulator.
#   bin/bench whole [--sizes "1 1000 10000 100000 1000000"] [--runs K] [--transports "nghttp2 libcurl"] [--latency MS]
#                   [--workers N] [--lanes N] [--sent N]
# Every size is published until about --sent tokens (200000) were sent to, and at least once; rows are medians of K such runs,
# interleaved. CPU is user and system time of the process, a token; `lane alone` is what sending costs without the rest.
source "$(dirname "$0")/lib/bench.sh"

sizes="1 1000 10000 100000 1000000" runs=3 transports="nghttp2 libcurl" latency=0 workers=1 lanes=2 sent=200000
options "sizes runs transports latency workers lanes sent" "$@"

build lamplighter SendBenchmark
start_redis
start_simulator --fast --latency "$latency"
start_gateway
auth=$(basic master)

# How often a size is published in a run; as many names as that for the small ones, so that they need not wait for each other.
times() { echo $((sent / $1 < 1 ? 1 : sent / $1 > 2000 ? 2000 : sent / $1)); }
largest=0
for size in $sizes; do
    [ "$size" -le "$largest" ] || largest=$size
    if [ "$size" -le 1000 ]; then
        # Names of their own: 1-0, 1-1, …
        publish_body "$size-{m}" >"$work/body.$size"
        if [ "$size" = 1 ]; then
            printf '{"token":"{token}"}' >"$work/track"
            load --method PUT --path "/api/activities/1-{m}/channels/{channel}" --modulus "$(times 1)" --count "$(times 1)" \
                --header "$auth" --body "$work/track" --connections 8 >"$work/line"
        else
            for ((name = 0; name < $(times "$size"); name++)); do follow "$size-$name" $((name * size)) "$size"; done
        fi
    else
        follow "$size" 0 "$size"
    fi
    echo "$size tokens follow" >&2
done

# once TRANSPORT SIZE: publishes and waits; the wall clock of one push in ms goes to $work/walls.
once() {
    local size="$2" count id ids
    count=$(times "$size")
    : >"$work/walls"
    if [ "$size" -le 1000 ]; then
        load --path /api/push --header "$auth" --body "$work/body.$size" --modulus "$count" --count "$count" \
            --connections 4 --log "$work/answers" >"$work/line" || fail "publishing failed"
        ids=$(sed -n 's/.*"push_ids":\["\([^"]*\)".*/\1/p' "$work/answers" | tail -n 20)
        for id in $ids; do wall "$(settled "$id" 0.02)" "$size"; done
    else
        for ((number = 0; number < count; number++)); do wall "$(settled "$(publish "$size")" 0.1)" "$size"; done
    fi
}
wall() {
    [ "$(field delivered <<<"$1")" = "$2" ] || fail "not all were delivered: $1"
    last=$1
    iso_ms "$(text created_at <<<"$1")" "$(text finished_at <<<"$1")" >>"$work/walls"
}
# Between two instants, in ms.
iso_ms() { echo $((($(date -d "$2" +%s%N) - $(date -d "$1" +%s%N)) / 1000000)); }

payload "$work/payload"
alone() {
    "${core0[@]}" "$bin/SendBenchmark" run --key-file "$LAMPLIGHTER_APNS_KEY_FILE" --key-id "$LAMPLIGHTER_APNS_KEY_ID" \
        --team-id "$LAMPLIGHTER_APNS_TEAM_ID" --transport "$1" --port "${LAMPLIGHTER_APNS_URL##*:}" \
        --ca-file "$LAMPLIGHTER_APNS_CA_FILE" --body-file "$work/payload" --requests "$sent" --in-flight 1000 \
        --lanes "$lanes" || fail "no lane"
}
all_workers() { # a sum of what FUNCTION says of each
    local name sum=0 pid
    for name in $names; do
        pid="pid_$name"
        sum=$((sum + $("$1" "${!pid}")))
    done
    echo "$sum"
}

for ((run = 1; run <= runs; run++)); do
    for transport in $transports; do
        line=$(alone "$transport")
        echo "$(field cpu_us <<<"$line") $(field seconds <<<"$line")" >>"$work/alone.$transport"
        export LAMPLIGHTER_WORKER_TRANSPORT=$transport LAMPLIGHTER_WORKER_LANES=$lanes
        names=
        for ((number = 1; number <= workers; number++)); do
            start_worker "worker$number"
            names+=" worker$number"
        done
        for size in $sizes; do
            once "$transport" "$size" # connections, first allocations
            count=$(times "$size")
            before=("$(all_workers cpu)" "$(cpu "$pid_redis")" "$(cpu "$pid_gateway")" "$(cpu "$pid_simulator")")
            once "$transport" "$size"
            after=("$(all_workers cpu)" "$(cpu "$pid_redis")" "$(cpu "$pid_gateway")" "$(cpu "$pid_simulator")")
            tokens=$((count * size))
            for part in 0 1 2 3; do printf '%s ' "$(ratio $((after[part] - before[part])) "$tokens" %.4f)"; done \
                >>"$work/figures.$transport.$size"
            echo "$(median <"$work/walls") $(($(all_workers peak) / workers))" >>"$work/figures.$transport.$size"
            [ "$size" != "$largest" ] || printf '%s\n' "$last" >"$work/ledger.$transport"
        done
        for name in $names; do stop "$name"; done
    done
    echo "run $run of $runs" >&2
done

figure='%-9s %9s %7s %10s %11s %10s %9s %11s %12s %10s\n'
printf "$figure" transport tokens pushes 'ms a push' 'tokens/s' 'worker µs' 'Redis µs' 'gateway µs' 'simulator µs' 'peak MB'
for transport in $transports; do
    printf "$figure" "$transport" 'alone' '' '' "$(ratio "$sent" "$(column 2 "$work/alone.$transport")" %.0f)" \
        "$(column 1 "$work/alone.$transport")" '' '' '' ''
    for size in $sizes; do
        file="$work/figures.$transport.$size"
        ms=$(column 5 "$file")
        printf "$figure" "$transport" "$size" "$(times "$size")" "$ms" "$(ratio "${size}000" "$ms" %.0f)" \
            "$(column 1 "$file" | xargs printf %.2f)" "$(column 2 "$file" | xargs printf %.2f)" \
            "$(column 3 "$file" | xargs printf %.2f)" "$(column 4 "$file" | xargs printf %.2f)" "$(column 6 "$file")"
    done
done
for transport in $transports; do echo "ledger of the last push to $largest, $transport: $(cat "$work/ledger.$transport")"; done
busy
