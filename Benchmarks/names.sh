#!/usr/bin/env bash
# Names that come and go, as orders and rides do: whether the memory of worker and gateway stays as it is.
#   bin/bench names [--rate N] [--minutes N] [--updates N]
# --rate names a second begin. A phone follows each one, gets --updates updates five seconds apart, and the end behind them.
# Nothing is set that has a default. Redis keeps what each push did for as long as the settings say, so its memory grows here.
source "$(dirname "$0")/lib/bench.sh"

rate=30 minutes=60 updates=1
options "rate minutes updates" "$@"
core0=() core1=() gateway_core=()

build lamplighter
start_redis
unset LAMPLIGHTER_PACING_MIN_INTERVAL
start_simulator --history 1
start_gateway
start_worker worker
auth=$(basic master) count=$((rate * minutes * 60))
printf '{"token":"{token}"}' >"$work/track"
plain_body 'order-{n}' >"$work/update"
sed 's/"event":"update"/"event":"end"/' "$work/update" >"$work/end"

resident() { awk '/^VmRSS/ { printf "%.1f", $2 * 1.024 / 1000 }' "/proc/$1/status"; }
publishers=()
# run WHAT OPTIONS…: one request for each name, at the rate
run() {
    local what="$1"
    shift
    "$work/load" --port "$port" --header "$auth" --count "$count" --rate "$rate" "$@" >"$work/$what.line" &
    publishers+=($!)
    processes+=($!)
}
compile load
run follow --method PUT --path '/api/activities/order-{n}/channels/{channel}' --body "$work/track"
for ((update = 0; update < updates; update++)); do
    sleep 5
    run "update-$update" --path /api/push --body "$work/update"
done
sleep 5
run end --path /api/push --body "$work/end"
printf '%-8s %10s %11s %10s %10s\n' minute 'worker MB' 'gateway MB' 'Redis MB' keys
for ((minute = 0; minute <= minutes; minute++)); do
    printf '%-8s %10s %11s %10s %10s\n' "$minute" "$(resident "$pid_worker")" "$(resident "$pid_gateway")" \
        "$(redis INFO memory | tr -d '\r' | awk -F: '$1 == "used_memory" { printf "%.1f", $2 / 1000000 }')" "$(redis DBSIZE)"
    [ "$minute" = "$minutes" ] || sleep 60
done
for publisher in "${publishers[@]}"; do wait "$publisher" || fail "not all were accepted: $(cat "$work"/*.line)"; done
cat "$work"/*.line >&2
busy
