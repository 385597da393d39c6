#!/usr/bin/env bash
# What questions cost while a deployment is full: how long the gateway takes to answer, and the memory of the index behind them.
#   bin/bench ask [--names N] [--pushes N] [--count N] [--send yes]
# --names: names with one follower each; a channel follows twenty. --pushes: pushes of one token that are accepted and kept, and
# with --send also sent, which takes some ten minutes a million. Each question is then asked --count times (200), one at a time,
# about names, channels and pushes all over the deployment. Times are in milliseconds.
source "$(dirname "$0")/lib/bench.sh"

names=1000000 pushes=1000000 count=200 send=no
options "names pushes count send" "$@"

build lamplighter
gateway_core=("${core0[@]}")
start_redis
start_simulator --fast
# A name of each order: more than the default allows.
export LAMPLIGHTER_LIMITS_NAMES=$((names + 1))
# The publishers do not wait for the worker.
export LAMPLIGHTER_GATEWAY_MAX_QUEUE=$pushes LAMPLIGHTER_GATEWAY_MAX_QUEUE_TOTAL=$pushes
start_gateway
compile load
master=$(basic master) app=$(basic secret) json='Content-Type: application/json'

# Twenty names, or their pushes, a request.
batch=20
devices=$((names / batch))
many() { seq -s , -f "$1" 10 $((batch + 9)); }
entry='{"action":"set","type":"update_token","id":"1","name":"order-{n}-%.0f","token":"{token}","action_ts_ms":{now},'
printf '{"live_activities":[%s]}' "$(many "$entry\"start_ts_ms\":{now}}")" >"$work/put"
load --method PUT --path '/api/channels/sdk/batch/{channel}' --header "$app" --header "$json" --body "$work/put" \
    --count "$devices" --connections 32 >"$work/line" || fail "no registrations"
echo "$names names, $(ratio "$names" "$(field seconds <"$work/line")" %.0f) registrations/s" >&2

# The index: all its parts, and the entries in them.
redis --scan --pattern 'll:fo:*' >"$work/parts"
entries=$(sed 's/.*/HLEN &/' "$work/parts" | redis | awk '{ n += $1 } END { print n + 0 }')
bytes=$(sed 's/.*/MEMORY USAGE & SAMPLES 0/' "$work/parts" | redis | awk '{ n += $1 } END { print n + 0 }')

[ "$send" = no ] || start_worker worker
printf '[%s]' "$(many "$(publish_body 'order-{m}-%.0f')")" >"$work/publish"
load --path /api/push --header "$master" --header "$json" --body "$work/publish" --modulus "$devices" \
    --count $((pushes / batch)) --connections 32 >"$work/line" || fail "no pushes"
echo "$pushes pushes, $(ratio "$pushes" "$(field seconds <"$work/line")" %.0f)/s" >&2
if [ "$send" != no ]; then
    until [ "$(redis ZCARD 'll:{q}:bench:open')" = 0 ]; do sleep 0.5; done
    stop worker
fi

printf 'index: %s entries, %s bytes an entry\n\n' "$entries" "$(ratio "$bytes" "$entries" %.1f)"
step=$((devices / count > 0 ? devices / count : 1))
# ask WHAT PATH: the path may hold {n}, the number of a device, and {channel}, its id.
ask() {
    local number
    : >"$work/times"
    for ((number = 0; number < count; number++)); do
        load --method GET --path "$2" --first $((number * step)) --count 1 --header "$master" >"$work/line" || fail "no $2"
        field max_us <"$work/line" >>"$work/times"
    done
    sort -n "$work/times" | awk -v what="$1" '
        { v[NR] = $1 / 1000 }
        END { printf "%-52s %8.1f %8.1f %8.1f\n", what, v[int((NR - 1) * 0.5) + 1], v[int((NR - 1) * 0.99) + 1], v[NR] }'
}
printf '%-52s %8s %8s %8s\n' question p50 p99 most
ask 'a channel' '/api/channels/{channel}'
ask 'a channel of a name (explain)' '/api/activities/order-{n}-15/channels/{channel}'
ask '100 channels' '/api/channels?limit=100'
ask 'a name' '/api/activities/order-{n}-15'
ask '100 names' '/api/activities?limit=100'
ask '100 names with a prefix' '/api/activities?limit=100&prefix=order-{n}-15'
ask 'names that contain a text' '/api/activities?limit=100&contains=-{n}-'
ask '100 ended names (there are none)' '/api/activities?limit=100&ended=true'
ask '100 pushes' '/api/pushes?limit=100'
ask '100 pushes of a name' '/api/pushes?limit=100&name=order-{n}-15'
ask 'pushes that failed (there are none)' '/api/pushes?limit=100&state=failed'
ask 'sums by day of 1,000 pushes' '/api/pushes/sums?by=day&limit=1000'
busy
