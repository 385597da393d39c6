#!/usr/bin/env bash
# What registrations cost, by the SDK's batch, by PUT and in bulk: CPU of gateway and Redis, memory; and while a name grows.
#   bin/bench register [--count N] [--runs K] [--bulk N] [--storm RATE] [--listpack BYTES]
# --count single registrations of a run, into a name of --bulk tokens, which are imported first: in each tenth of the import a row
# says what an insert costs by then, and PUTs at a low rate beside it measure the longest wait. Then comes what each kind of key
# takes. --storm: so many registrations a second in bulk for 10 s. --listpack: Redis's hash-max-listpack-value (1024; 64 is its
# default). The gateway on one core. Before all that a tenth as many tokens are written to Redis alone in the plainest way, one key
# each, and taken out again.
source "$(dirname "$0")/lib/bench.sh"

count=10000 runs=3 bulk=1000000 storm=20000 listpack=1024
options "count runs bulk storm listpack" "$@"

build lamplighter
gateway_core=("${core0[@]}")
start_redis --hash-max-listpack-value "$listpack"
start_gateway
compile load
app=$(basic secret) json='Content-Type: application/json'
now=$(date +%s)000
printf '{"token":"{token}"}' >"$work/put"
printf '{"live_activities":[{"action":"set","type":"update_token","id":"activity-{n}","name":"match","token":"{token}",' >"$work/sdk"
printf '"action_ts_ms":%s,"start_ts_ms":%s}]}' "$now" "$now" >>"$work/sdk"
puts() { load --method PUT --path '/api/activities/match/channels/{channel}' --header "$app" --header "$json" \
    --body "$work/put" "$@"; }
batches() { load --method PUT --path '/api/channels/sdk/batch/{channel}?platform=ios' --header "$app" --header "$json" \
    --body "$work/sdk" "$@"; }
# Without what passes through.
used() {
    redis INFO memory | tr -d '\r' | awk -F: '
        $1 == "used_memory" { sum += $2 } $1 == "mem_clients_normal" || $1 == "mem_aof_buffer" { sum -= $2 } END { print sum }'
}
clocks() { before=("$(cpu "$pid_gateway")" "$(cpu "$pid_redis")" "$(date +%s%N)"); }
# note ROW COUNT: what has been used since `clocks`, for each of COUNT registrations.
note() {
    local after=("$(cpu "$pid_gateway")" "$(cpu "$pid_redis")" "$(date +%s%N)")
    echo "$(ratio $((after[0] - before[0])) "$2") $(ratio $((after[1] - before[1])) "$2")" \
        "$(ratio "$2"000000000 $((after[2] - before[2])) %.0f)" >>"$work/figures.$1"
}

echo "import of $bulk"
printf '%-16s %16s %12s %10s %14s %28s\n' tokens registrations/s 'gateway µs' 'Redis µs' 'bytes a token' 'PUT beside it: p99, max ms'
part=$((bulk / 10))
printf '*3\r\n$3\r\nSET\r\n$22\r\nmatch:{raw}\r\n$80\r\n{raw}{raw}{raw}{raw}{raw}\r\n' >"$work/set"
"$work/load" --print --body "$work/set" --first 0 --count "$part" >"$work/keys"
empty=$(used)
clocks
redis -n 1 --pipe <"$work/keys" >"$work/pipe.out"
note keys "$part"
read -r _ server rate <"$work/figures.keys"
printf '%-16s %16s %12s %10s %14s %28s\n' 'a key for each' "$rate" - "$server" "$((($(used) - empty) / part))" -
redis -n 1 FLUSHDB >"$work/pipe.out"
empty=$(used)
for ((tenth = 0; tenth < 10; tenth++)); do
    devices $((tenth * part)) "$part" >"$work/devices"
    clocks
    puts --first $((100000000 + tenth * 1000000)) --rate 50 --count 1000000 --log "$work/beside" >/dev/null 2>&1 &
    beside=$!
    "$bin/lamplighter" import "$work/devices" --name match >"$work/import.out" || fail "no import"
    note import "$part"
    kill "$beside" 2>/dev/null || true
    wait "$beside" || true
    waits=$(awk '{ print $3 - $2 }' "$work/beside" | sort -n | awk '
        { v[NR] = $1 } END { if (NR) printf "%.1f, %.1f", v[int((NR - 1) * 0.99) + 1] / 1000, v[NR] / 1000 }')
    read -r gateway server rate < <(tail -n 1 "$work/figures.import")
    printf '%-16s %16s %12s %10s %14s %28s\n' "$(((tenth + 1) * part))" "$rate" "$gateway" "$server" \
        "$((($(used) - empty) / ((tenth + 1) * part)))" "$waits"
done
# The keys of each kind (docs/keyspace.md), and their bytes for each token of the import.
redis --scan >"$work/names"
sed 's/.*/MEMORY USAGE "&" SAMPLES 0/' "$work/names" | redis >"$work/sizes"
printf '\n%-16s %16s %14s\n' 'keys of a kind' keys 'bytes a token'
paste -d ' ' "$work/sizes" "$work/names" | awk -v tokens="$((part * 10))" '
    { split($2, name, ":"); count[name[2]]++; bytes[name[2]] += $1 }
    END { for (kind in count) if (bytes[kind] >= tokens / 100) printf "%-16s %16d %14.2f\n", kind, count[kind], bytes[kind] / tokens }' |
    sort -rnk 3

for ((run = 1; run <= runs; run++)); do
    first=$((bulk * 10 + run * count * 2))
    for row in put sdk; do
        clocks
        if [ "$row" = put ]; then
            puts --first "$first" --count "$count" --connections 32 >"$work/line" || fail "$row failed"
        else
            batches --first $((first + count)) --count "$count" --connections 32 >"$work/line" || fail "$row failed"
        fi
        note "$row" "$count"
        echo "$(field p50_us <"$work/line") $(field p99_us <"$work/line") $(field max_us <"$work/line")" >>"$work/times.$row"
    done
    echo "run $run of $runs" >&2
done
echo
printf '%-10s %16s %12s %10s %9s %9s %9s\n' form registrations/s 'gateway µs' 'Redis µs' 'p50 ms' 'p99 ms' 'max ms'
for row in put sdk; do
    printf '%-10s %16s %12s %10s %9s %9s %9s\n' "$row" "$(column 3 "$work/figures.$row")" "$(column 1 "$work/figures.$row")" \
        "$(column 2 "$work/figures.$row")" "$(ratio "$(column 1 "$work/times.$row")" 1000)" \
        "$(ratio "$(column 2 "$work/times.$row")" 1000)" "$(ratio "$(column 3 "$work/times.$row")" 1000)"
done

if [ "$storm" -gt 0 ]; then
    # Ten pieces, each due a second after the one before.
    late=0
    first=$((bulk * 10 + 100000000))
    for ((second = 0; second < 10; second++)); do devices $((first + second * storm)) "$storm" >"$work/storm.$second"; done
    clocks
    began=$(date +%s%N)
    for ((second = 0; second < 10; second++)); do
        behind=$((($(date +%s%N) - began) / 1000000 - second * 1000))
        [ "$behind" -le "$late" ] || late=$behind
        [ "$behind" -ge 0 ] || sleep "$(ratio $((-behind)) 1000 %.3f)"
        "$bin/lamplighter" import "$work/storm.$second" --name match >"$work/import.out" || fail "no import"
    done
    seconds=$(ratio $(($(date +%s%N) - began)) 1000000000)
    note storm $((storm * 10))
    read -r gateway server _ <"$work/figures.storm"
    echo
    echo "storm: $((storm * 10)) registrations in $seconds s, at most $late ms behind $storm a second;" \
        "gateway $gateway µs, Redis $server µs each"
fi
busy
