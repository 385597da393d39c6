#!/usr/bin/env bash
# Sourced after bench.sh by scripts that ask a full deployment: fills it with names and pushes, and asks.

# Twenty names, or their pushes, a request; a channel follows twenty.
batch=20
many() { seq -s , -f "$1" 10 $((batch + 9)); }

# start_full NAMES PUSHES: Redis, the simulator and the gateway, with limits for that many.
start_full() {
    gateway_core=("${core0[@]}")
    start_redis
    start_simulator --fast
    # A name of each order: more than the default allows.
    export LAMPLIGHTER_LIMITS_NAMES=$(($1 + 20000))
    # The publishers do not wait for the worker.
    export LAMPLIGHTER_GATEWAY_MAX_QUEUE=$(($2 + 20000)) LAMPLIGHTER_GATEWAY_MAX_QUEUE_TOTAL=$(($2 + 20000))
    start_gateway
    compile load
    master=$(basic master) app=$(basic secret) json='Content-Type: application/json'
    devices=$(($1 / batch))
}

# fill_names: a follower for each name order-D-10 to order-D-29 of each device D.
fill_names() {
    local entry='{"action":"set","type":"update_token","id":"1","name":"order-{n}-%.0f","token":"{token}","action_ts_ms":{now},'
    printf '{"live_activities":[%s]}' "$(many "$entry\"start_ts_ms\":{now}}")" >"$work/put"
    load --method PUT --path '/api/channels/sdk/batch/{channel}' --header "$app" --header "$json" --body "$work/put" \
        --count "$devices" --connections 32 >"$work/line" || fail "no registrations"
    echo "$((devices * batch)) names, $(ratio $((devices * batch)) "$(field seconds <"$work/line")" %.0f) registrations/s" >&2
}

# fill_pushes COUNT: pushes to the names of the first devices, which are accepted and kept.
fill_pushes() {
    printf '[%s]' "$(many "$(publish_body 'order-{m}-%.0f')")" >"$work/publish"
    load --path /api/push --header "$master" --header "$json" --body "$work/publish" --modulus "$devices" \
        --count $(($1 / batch)) --connections 32 >"$work/line" || fail "no pushes"
    echo "$1 pushes, $(ratio "$1" "$(field seconds <"$work/line")" %.0f)/s" >&2
}

# ask COUNT HEADER WHAT PATH: one at a time, about devices all over the deployment; milliseconds. The path may hold {n}, the
# number of a device, and {channel}, its id.
ask() {
    local number step=$((devices / $1 > 0 ? devices / $1 : 1))
    : >"$work/times"
    for ((number = 0; number < $1; number++)); do
        load --method GET --path "$4" --first $((number * step)) --count 1 --header "$2" >"$work/line" || fail "no $4"
        field max_us <"$work/line" >>"$work/times"
    done
    sort -n "$work/times" | awk -v what="$3" '
        { v[NR] = $1 / 1000 }
        END { printf "%-52s %8.1f %8.1f %8.1f\n", what, v[int((NR - 1) * 0.5) + 1], v[int((NR - 1) * 0.99) + 1], v[NR] }'
}
