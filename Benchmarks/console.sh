#!/usr/bin/env bash
# What the console costs: how much dearer a push is while tabs are open, and how long pages take in a full deployment.
#   bin/bench console [--tabs N] [--rates "R R"] [--seconds S] [--runs K] [--names N] [--pushes N] [--asks N] [--parts "tabs pages"]
# tabs: half of --tabs are open on Home, half on the page of a push that is under way. Pushes to one token each go out at each of
# --rates a second for --seconds, with tabs and without in turn, --runs times; CPU is user and system time. The machine's own speed
# changes by more than tabs cost, so gateway and Redis are compared with the worker, which no tab touches. pages: --names names
# and --pushes pushes are filled in, with dead letters and schedules; each page is then read --asks times, one at a time, at places
# all over the deployment. Times are in milliseconds.
source "$(dirname "$0")/lib/bench.sh"
source Benchmarks/lib/fill.sh

tabs=50 rates="200 500" seconds=5 runs=9 names=1000000 pushes=200000 asks=100 parts="tabs pages"
options "tabs rates seconds runs names pushes asks parts" "$@"

build lamplighter
core0=() core1=()
start_full "$names" "$pushes"
# A session may have 20 live tabs.
cookies=""
for ((session = 0; session < (tabs + 19) / 20; session++)); do
    cookie=$(curl -fsS -o "$work/signed" -D - --data-urlencode app_key=bench --data-urlencode secret=bench-master \
        "$LAMPLIGHTER_GATEWAY_URL/console/sign-in" | sed -n 's/.*lamplighter_console=\([0-9a-f]*\);.*/\1/p')
    [ -n "$cookie" ] || fail "no sign-in"
    cookies+=${cookies:+,}$cookie
done

wait_empty() {
    local key
    for key in 'll:{q}:bench:10' 'll:{q}:bench:5'; do until [ "$(redis XLEN "$key")" = 0 ]; do sleep 0.01; done; done
}
pause() {
    curl -fsS -o "$work/said" -u bench:bench-master -H "$json" "$LAMPLIGHTER_GATEWAY_URL/api/$1" -d "{\"name\":\"$2\"}" || fail "no $1"
}
# send COUNT RATE
send() {
    load --path /api/push --header "$master" --header "$json" --body "$work/body" --modulus 1000 --connections 32 \
        --count "$1" --rate "$2" >"$work/line" || fail "not all were accepted"
    wait_empty
}
clocks() { echo "$(cpu "$pid_gateway") $(cpu "$pid_redis") $(cpu "$pid_worker")"; }
open_tabs() {
    start tabs python3 Benchmarks/Bare/tabs.py "$port" "$cookies" "$tabs" /console/live "/console/pushes/$held/live"
    await "the tabs" grep -q open "$work/tabs.out"
}
close_tabs() { stop tabs; }
# measured ROW COUNT RATE: microseconds of CPU a push, of gateway, Redis, worker, and of the first two.
measured() {
    local before after
    read -ra before < <(clocks)
    send "$2" "$3"
    read -ra after < <(clocks)
    printf '%s %s %s %s\n' $(((after[0] - before[0]) / $2)) $(((after[1] - before[1]) / $2)) \
        $(((after[2] - before[2]) / $2)) \
        $(((after[0] + after[1] - before[0] - before[1]) / $2)) >>"$work/figures.$1"
}
# compared TITLE KIND COUNT RATE: pairs of runs, with tabs first in every other one.
compared() {
    local run row column
    for ((run = 1; run <= runs; run++)); do
        for row in $([ $((run % 2)) = 0 ] && echo "tabs none" || echo "none tabs"); do
            [ "$row" = none ] || open_tabs
            measured "$2.$row" "$3" "$4"
            [ "$row" = none ] || close_tabs
        done
        echo "$1: run $run of $runs" >&2
    done
    for row in none tabs; do
        printf '%-24s %-8s' "$1" "$row"
        for column in 1 2 3 4; do printf ' %10s' "$(column "$column" "$work/figures.$2.$row")"; done
        echo
    done
    # By the worker's CPU of the same run; the median of the pairs.
    printf '%-24s %-8s' '' dearer
    paste -d ' ' "$work/figures.$2.none" "$work/figures.$2.tabs" >"$work/pairs"
    for column in '$5/$7/($1/$3)' '$6/$7/($2/$3)' '1' '($5+$6)/$7/(($1+$2)/$3)'; do
        printf ' %9.1f%%' "$(awk "{ print 100 * ($column - 1) }" "$work/pairs" | median)"
    done
    echo
}
compare() {
    printf '{"token":"{token}"}' >"$work/track"
    load --method PUT --path '/api/activities/match-{m}/channels/{channel}' --modulus 1000 --count 1000 --header "$master" \
        --body "$work/track" --connections 8 >"$work/line" || fail "no registrations"
    publish_body 'match-{m}' >"$work/body"
    start_worker worker
    # Its push stays under way, so that its page stays live.
    follow held 0 1
    pause pause held
    held=$(publish held)
    send 2000 0 # connections, names, first allocations
    printf '%-24s %-8s %10s %10s %10s %10s\n' 'µs of CPU a push' tabs gateway Redis worker both
    local before after rate
    for rate in $rates; do compared "$rate a second" "$rate" $((rate * seconds)) "$rate"; done
    open_tabs
    read -ra before < <(clocks)
    sleep 20
    read -ra after < <(clocks)
    close_tabs
    printf '%s tabs, nothing else: %s ms of CPU a second in the gateway, %s in Redis; %s in 20 s\n\n' "$tabs" \
        "$(ratio $((after[0] - before[0])) 20000 %.1f)" "$(ratio $((after[1] - before[1])) 20000 %.1f)" "$(cat "$work/tabs.out" | tail -n 1)"
    pause resume held
    stop worker
}

# Pushes that end as dead letters, and schedules.
fill_lists() {
    local letters=$((pushes / 200 > 20 ? pushes / 200 : 20))
    curl -fsS -o "$work/said" -X POST "$control/simulator/faults" -d '{"reject_all":"PayloadTooLarge"}' || fail "no faults"
    start_worker worker
    fill_pushes "$((letters / batch * batch))"
    wait_empty
    stop worker
    curl -fsS -o "$work/said" -X POST "$control/simulator/faults" -d '{}' || fail "no faults"
    printf '{"schedule":{"scheduled_time":"%s"},"push":%s}' "$(date -u -d '+1 day' +%FT%T)" "$(publish_body 'order-{n}-10')" >"$work/later"
    load --path /api/schedules --header "$master" --header "$json" --body "$work/later" --count "$letters" --connections 16 \
        >"$work/line" || fail "no schedules"
    id=$(curl -fsS -u bench:bench-master "$LAMPLIGHTER_GATEWAY_URL/api/dead?limit=1" | text push_id)
    [ -n "$id" ] || fail "no dead letter"
}
pages() {
    fill_names
    fill_lists
    fill_pushes "$pushes"
    printf '%-52s %8s %8s %8s\n' page p50 p99 most
    page() { ask "$asks" "Cookie: lamplighter_console=$cookie" "$@"; }
    page home '/console'
    page names '/console/names'
    page 'names that contain a text' '/console/names?contains=-{n}-'
    page 'names that contain a text of none' '/console/names?contains=nobody-{n}'
    page 'closed names (there are none)' '/console/names?show=closed'
    page 'a name' '/console/names/order-{n}-15'
    page 'a device' '/console/devices/{channel}'
    page 'a device, explained' '/console/devices/{channel}?name=order-{n}-15'
    page devices '/console/devices'
    page 'a push' "/console/pushes/$id"
    page pushes '/console/pushes'
    page 'pushes of a name' '/console/pushes?name=order-{n}-15'
    page 'failed pushes' '/console/pushes?state=failed'
    page compose '/console/compose'
    page schedules '/console/schedules'
    page 'dead letters' '/console/dead'
    page quarantine '/console/quarantine'
    page broadcasts '/console/broadcasts'
    page actions '/console/actions'
}
for part in $parts; do
    case "$part" in
    tabs) compare ;;
    pages) pages ;;
    *) usage ;;
    esac
done
busy
