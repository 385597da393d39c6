#!/usr/bin/env bash
# What dead tokens cost: throughput when APNs falls to one stream after each rejection, until it accepts a push again.
#   bin/bench dead [--requests N] [--runs K] [--lanes "1 2"] [--shares "0 0.01 0.05 0.2"] [--latency MS] [--streams N]
# A new connection for every run, no warm-up: what a push finds. Every figure is the median of K runs.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    sed -n 's/^#   //p' Benchmarks/dead.sh >&2
    exit 64
}
fail() {
    echo "bench: $*" >&2
    exit 1
}

requests=50000
runs=3
lanes="1 2"
shares="0 0.01 0.05 0.2"
latency=50
streams=1000
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case "$1" in
    --requests) requests=$2 ;;
    --runs) runs=$2 ;;
    --lanes) lanes=$2 ;;
    --shares) shares=$2 ;;
    --latency) latency=$2 ;;
    --streams) streams=$2 ;;
    *) usage ;;
    esac
    shift 2
done

work=$(mktemp -d)
simulator=
finish() {
    exec 3>&- || true
    [ -z "$simulator" ] || kill "$simulator" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

# BENCH_BINARY: a SendBenchmark that is built already.
send=${BENCH_BINARY:-}
if [ -z "$send" ]; then
    bin/setup --quiet
    echo "building (release) …" >&2
    package=${BENCH_PACKAGE:-.}
    swift build --package-path "$package" -c release --product SendBenchmark >"$work/build.log" 2>&1 || {
        tail -n 30 "$work/build.log" >&2
        fail "no build"
    }
    send=$(swift build --package-path "$package" -c release --show-bin-path)/SendBenchmark
fi
printf %s '{"aps":{"timestamp":1790000000,"event":"update","content-state":{"home":3,"away":1,"minute":78}}}' >"$work/body"

field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p"; }
median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

start() {
    rm -f "$work/stop" "$work/server"
    mkfifo "$work/stop"
    "$send" simulate --directory "$work/apns" --streams "$streams" --latency "$latency" --dead-share "$1" --drop \
        <"$work/stop" >"$work/server" &
    simulator=$!
    exec 3>"$work/stop"
    for _ in $(seq 200); do
        [ -s "$work/server" ] && return
        kill -0 "$simulator" 2>/dev/null || fail "the simulator did not start"
        sleep 0.05
    done
    fail "the simulator says nothing"
}
stop() {
    exec 3>&-
    wait "$simulator" || true
    simulator=
}

printf '%-10s %6s %8s %12s %16s\n' sender lanes dead requests/s 'CPU µs/request'
for share in $shares; do
    start "$share"
    read -r port ca_file key_file key_id team_id <"$work/server"
    for sender in libcurl nghttp2; do
        for count in $lanes; do
            rm -f "$work/figures"
            for ((run = 1; run <= runs; run++)); do
                timeout 120 "$send" run --key-file "$key_file" --key-id "$key_id" --team-id "$team_id" \
                    --transport "$sender" --port "$port" --ca-file "$ca_file" --body-file "$work/body" \
                    --requests "$requests" --in-flight "$streams" --lanes "$count" --warm-up 0 --dead >"$work/line" ||
                    echo '{"seconds":inf,"cpu_us":0}' >"$work/line"
                echo "$(field seconds <"$work/line") $(field cpu_us <"$work/line")" >>"$work/figures"
            done
            seconds=$(cut -d ' ' -f 1 "$work/figures" | median)
            awk -v sender="$sender" -v lanes="$count" -v share="$share" -v n="$requests" -v seconds="${seconds:-0}" \
                -v cpu="$(cut -d ' ' -f 2 "$work/figures" | median)" 'BEGIN {
                    rate = seconds > 0 ? sprintf("%d", n / seconds) : "under " int(n / 120)
                    printf "%-10s %6d %7s%% %12s %16.1f\n", sender, lanes, share * 100, rate, cpu
                }'
        done
    done
    stop
done
