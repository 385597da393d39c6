#!/usr/bin/env bash
# Sourced by Benchmarks/*.sh: options, builds, processes, CPU clocks, medians. Everything of a run lies in $work and ends with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bench="Benchmarks/$(basename "$0")"

usage() {
    sed -n 's/^#   //p' "$bench" >&2
    exit 64
}
fail() {
    echo "bench: $*" >&2
    for log in "$work"/*.log; do
        [ -s "$log" ] || continue
        printf -- '--- %s\n' "${log##*/}" >&2
        tail -n 8 "$log" >&2
    done
    exit 1
}

# options "requests runs" "$@": sets the variable that each --option names; the names are what may be given.
options() {
    local known=" $1 " name
    shift
    while [ $# -gt 0 ]; do
        [ $# -ge 2 ] && [[ "$1" == --* ]] || usage
        name=${1#--}
        name=${name//-/_}
        [[ "$known" == *" $name "* ]] || usage
        printf -v "$name" '%s' "$2"
        shift 2
    done
}

work=$(mktemp -d "${TMPDIR:-/tmp}/lamplighter-bench.XXXXXX")
# Nobody's own settings.
: >"$work/lamplighter.yaml"
export LAMPLIGHTER_CONFIG="$work/lamplighter.yaml"
processes=()
finish() {
    trap - EXIT INT TERM
    local index
    for ((index = ${#processes[@]} - 1; index >= 0; index--)); do
        kill "${processes[index]}" 2>/dev/null || true
        wait "${processes[index]}" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The one that is measured on one core, what it talks to on the other, where there are two.
core0=() core1=()
if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null; then
    core0=(taskset -c 0)
    core1=(taskset -c 1)
fi

# build PRODUCT…: optimized; $bin is where they are. BENCH_BIN: a directory where they are already.
build() {
    local product
    bin=${BENCH_BIN:-}
    if [ -z "$bin" ]; then
        bin/setup --quiet
        # BENCH_PACKAGE: another package directory with the same sources.
        local package=${BENCH_PACKAGE:-.}
        for product in "$@"; do
            echo "building $product (release) …" >&2
            swift build --package-path "$package" -c release --product "$product" >"$work/build.log" 2>&1 ||
                fail "no build"
        done
        rm -f "$work/build.log"
        bin=$(swift build --package-path "$package" -c release --show-bin-path)
    fi
    for product in "$@"; do [ -x "$bin/$product" ] || fail "there is no $bin/$product"; done
}
# compile NAME LIBRARIES…: Benchmarks/Bare/NAME.c to $work/NAME.
compile() {
    local name="$1"
    shift
    cc -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$work/$name" "Benchmarks/Bare/$name.c" "$@" || fail "no $name"
}

# start NAME COMMAND…: in the background; its output in NAME.out and NAME.log, its process in $pid_NAME.
start() {
    local name="$1"
    shift
    # What an earlier process of that name said must not be taken for this one's.
    rm -f "$work/$name.out" "$work/$name.log"
    "$@" >"$work/$name.out" 2>"$work/$name.log" &
    processes+=($!)
    printf -v "pid_$name" '%s' $!
}
# stop NAME: by SIGTERM, and waits for its end.
stop() {
    local pid="pid_$1"
    kill -TERM "${!pid}" 2>/dev/null || true
    wait "${!pid}" 2>/dev/null || true
}
# await WHAT COMMAND…: until it succeeds, at most 60 s.
await() {
    local what="$1" deadline=$((SECONDS + 60))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || fail "$what did not come up"
        sleep 0.02
    done
}

# A private Redis on a unix socket, with the settings of config/redis.conf and those given.
start_redis() {
    start redis "${core1[@]}" redis-server config/redis.conf --dir "$work" --port 0 --unixsocket "$work/redis.sock" \
        --logfile "" "$@"
    await Redis redis-cli -s "$work/redis.sock" ping
    export LAMPLIGHTER_REDIS_URL="unix://$work/redis.sock"
    describe_app
}
describe_app() {
    export LAMPLIGHTER_APP_KEY=bench LAMPLIGHTER_APP_SECRET=bench-secret LAMPLIGHTER_APP_MASTER_SECRET=bench-master
    export LAMPLIGHTER_APP_BUNDLE_ID=com.example.scores LAMPLIGHTER_PACING_MIN_INTERVAL=0
}
redis() { redis-cli -s "$work/redis.sock" "$@"; }
# A cluster of three primaries on ports of their own, which are in $nodes. Their bus ports, by default 10000 above, are among
# the 5000 ports of this command too: higher ones may be a client's.
start_cluster() {
    local node first=$((${TEST_PORTS:-10000} + RANDOM % 2000))
    nodes=($first $((first + 1)) $((first + 2)))
    for node in "${nodes[@]}"; do
        mkdir "$work/node-$node"
        start "node_$node" redis-server config/redis.conf --dir "$work/node-$node" --port "$node" --bind 127.0.0.1 \
            --cluster-enabled yes --cluster-port $((node + 2500)) --logfile ""
        await "node $node" redis-cli -p "$node" ping
    done
    redis-cli --cluster create "${nodes[@]/#/127.0.0.1:}" --cluster-yes >"$work/cluster.log" || fail "no cluster"
    for node in "${nodes[@]}"; do
        await "the cluster" sh -c "redis-cli -p $node CLUSTER INFO | grep -q cluster_state:ok"
    done
    local addresses="${nodes[*]/#/127.0.0.1:}"
    export LAMPLIGHTER_REDIS_URL="redis+cluster://${addresses// /,}"
    describe_app
}
# The simulator; options as `lamplighter simulate` takes them.
start_simulator() {
    start simulator "${core1[@]}" "$bin/lamplighter" simulate --directory "$work/apns" --port 0 --control-port 0 --json \
        --log-level warning "$@"
    await "the simulator" grep -q control_url "$work/simulator.out"
    local said
    said=$(cat "$work/simulator.out")
    control=$(text control_url <<<"$said")
    LAMPLIGHTER_APNS_URL=$(text url <<<"$said")
    LAMPLIGHTER_APNS_CA_FILE=$(text ca_file <<<"$said")
    LAMPLIGHTER_APNS_KEY_FILE=$(text key_file <<<"$said")
    LAMPLIGHTER_APNS_KEY_ID=$(text key_id <<<"$said")
    LAMPLIGHTER_APNS_TEAM_ID=$(text team_id <<<"$said")
    export LAMPLIGHTER_APNS_URL LAMPLIGHTER_APNS_CA_FILE LAMPLIGHTER_APNS_KEY_FILE LAMPLIGHTER_APNS_KEY_ID
    export LAMPLIGHTER_APNS_TEAM_ID
}
# The fast simulator inside SendBenchmark, for lanes without a worker; sets $server_port, $key and $ca_file.
start_server() {
    rm -f "$work/stop"
    mkfifo "$work/stop"
    start server bash -c 'exec "$@" <"$0"' "$work/stop" "${core1[@]}" "$bin/SendBenchmark" simulate \
        --directory "$work/apns" "$@"
    exec 3>"$work/stop"
    await "the simulator" test -s "$work/server.out"
    local key_file key_id team_id
    read -r server_port ca_file key_file key_id team_id <"$work/server.out"
    key=(--key-file "$key_file" --key-id "$key_id" --team-id "$team_id")
}
stop_server() {
    exec 3>&-
    wait "$pid_server" || true
}
start_gateway() {
    start gateway "${gateway_core[@]}" "$bin/lamplighter" serve --port 0
    await "the gateway" grep -q 'url=http' "$work/gateway.log"
    LAMPLIGHTER_GATEWAY_URL=$(sed -n 's/.* url=\(http[^ ]*\).*/\1/p' "$work/gateway.log" | head -n 1)
    export LAMPLIGHTER_GATEWAY_URL
    port=${LAMPLIGHTER_GATEWAY_URL##*:}
}
gateway_core=("${core1[@]}")
# start_worker NAME OPTIONS…
start_worker() {
    local name="$1"
    shift
    start "$name" "${core0[@]}" "$bin/lamplighter" work --name "$name" "$@"
    await "$name" grep -q 'ready for work' "$work/$name.log"
}

# Microseconds of CPU, user and system, that a process has used, in steps of a clock tick.
tick=$((1000000 / $(getconf CLK_TCK)))
cpu() { echo $((($(sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 12,13 | tr ' ' +)) * tick)); }
# Largest resident memory so far, in MB of 1,000,000 bytes.
peak() { awk '/^VmHWM/ { printf "%.0f", $2 * 1.024 / 1000 }' "/proc/$1/status"; }

# Of one line of JSON: a number, a text.
field() { sed -n "s/.*\"$1\":\(-\{0,1\}[0-9.]*\).*/\1/p" | head -n 1; }
text() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -n 1; }
median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# column N FILE: the median of a column.
column() { cut -d ' ' -f "$1" "$2" | median; }
ratio() { awk -v a="$1" -v b="$2" -v format="${3:-%.2f}" 'BEGIN { if (b + 0 == 0) print "-"; else printf format, a / b }'; }
# How busy the machine was, for whoever reads the figures.
busy() { echo "load of the machine at the end: $(cut -d ' ' -f 1-3 /proc/loadavg), $(nproc) cores" >&2; }

basic() { printf 'Authorization: Basic %s' "$(printf 'bench:bench-%s' "$1" | base64)"; }
# load OPTIONS…: requests to the gateway, see Benchmarks/Bare/load.c.
load() {
    [ -x "$work/load" ] || compile load
    "${core1[@]}" "$work/load" --port "$port" "$@"
}
# devices FIRST COUNT: lines for `lamplighter import`, each number another channel and token.
devices() {
    [ -x "$work/load" ] || compile load
    printf '{"channel":"{channel}","token":"{token}"}\n' >"$work/device"
    "$work/load" --print --body "$work/device" --first "$1" --count "$2"
}
# follow_each NAMES: order-0, order-1, … get one follower each.
follow_each() {
    printf '{"token":"{token}"}' >"$work/track"
    load --method PUT --path '/api/activities/order-{m}/channels/{channel}' --modulus "$1" --count "$1" \
        --header "$(basic master)" --body "$work/track" --connections 8 >"$work/line" || fail "no registrations"
}
# follow NAME FIRST COUNT
follow() { devices "$2" "$3" | "$bin/lamplighter" import - --name "$1" >"$work/import.out" || fail "no import"; }

# publish_body NAME [AUDIENCE]: an update as one of a match; NAME may hold {n} and {m}.
publish_body() {
    printf '{"audience":%s,"device_types":["ios"],"notification":{"ios":{"live_activity":{"name":"%s","event":"update",' \
        "${2:-\"all\"}" "$1"
    printf '"content_state":{"home":3,"away":1,"minute":78,"scorers":[{"n":"Okafor","m":12},{"n":"Lindqvist","m":41},'
    printf '{"n":"Haddad","m":67}],"stadium":"Riverside","events":[{"t":"yellow","m":55},{"t":"sub","m":62}]},'
    printf '"relevance_score":75}}},"options":{"conflate":false}}'
}
# plain_body NAME: the same as publishers send it, with nothing set that has a default.
plain_body() { publish_body "$@" | sed 's/,"options":{"conflate":false}//'; }
# token_list FIRST COUNT FORM: the tokens, each in the place of & in FORM.
token_list() {
    printf '{token}\n' >"$work/tokens"
    [ "$2" = 0 ] || "$work/load" --print --body "$work/tokens" --first "$1" --count "$2" | sed "s/.*/$3/" | paste -sd ,
}
# silence FIRST COUNT [DEAD]: APNs never answers for these tokens from now on, the DEAD ones behind them are dead, and all others
# are answered after $latency ms.
silence() {
    printf '{"latency_ms":%s,"stall_tokens":[%s],"dead_tokens":[%s]}' "$latency" "$(token_list "$1" "$2" '"&"')" \
        "$(token_list $(($1 + $2)) "${3:-0}" '{"prefix":"&"}')" |
        curl -fsS -o "$work/faults" "$control/simulator/faults" -d @- || fail "no faults"
}
# payload FILE: what APNs gets of such an update, 341 bytes.
payload() {
    local state text
    state='{"home":3,"away":1,"minute":78,"scorers":[{"n":"Okafor","m":12},{"n":"Lindqvist","m":41},{"n":"Haddad","m":67}],'
    state+='"stadium":"Riverside","events":[{"t":"yellow","m":55},{"t":"sub","m":62}]}'
    text='{"aps":{"timestamp":1790000000,"event":"update","content-state":'"$state"',"stale-date":1790003600,"relevance-score":75}}'
    while [ ${#text} -lt 341 ]; do text="${text%\}\}} }}"; done
    printf %s "$text" >"$1"
}
# publish NAME: the push's id.
publish() { publish_body "$1" | post_push; }
# post_push <BODY: the id of that push.
post_push() {
    curl -fsS -u bench:bench-master -H 'Content-Type: application/json' "$LAMPLIGHTER_GATEWAY_URL/api/push" \
        --data-binary @- | sed -n 's/.*"push_ids":\["\([^"]*\)".*/\1/p'
}
ledger() { curl -fsS -u bench:bench-master "$LAMPLIGHTER_GATEWAY_URL/api/push/$1"; }
# settled ID [PAUSE]: waits for its end; its ledger.
settled() {
    local said
    while :; do
        said=$(ledger "$1") || fail "no ledger"
        case "$(text state <<<"$said")" in
        done | failed | superseded | expired | cancelled) break ;;
        esac
        sleep "${2:-0.1}"
    done
    printf '%s\n' "$said"
}
