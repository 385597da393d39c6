#!/usr/bin/env bash
# What a request costs the sender: both lanes against the simulator's fast mode, beside the least that C can do.
#   bin/bench send [--requests N] [--runs K] [--in-flight "100 1000"] [--latency MS]
# Every row is the median of K runs, interleaved with the other rows' runs; CPU is user and system time of the sender.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    sed -n 's/^#   //p' Benchmarks/send.sh >&2
    exit 64
}
fail() {
    echo "bench: $*" >&2
    exit 1
}

requests=200000
runs=5
in_flight="100 1000"
latency=0
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case "$1" in
    --requests) requests=$2 ;;
    --runs) runs=$2 ;;
    --in-flight) in_flight=$2 ;;
    --latency) latency=$2 ;;
    *) usage ;;
    esac
    shift 2
done

bin/setup --quiet
work=$(mktemp -d)
simulator=
finish() {
    exec 3>&- || true
    [ -z "$simulator" ] || kill "$simulator" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

echo "building (release) …" >&2
# BENCH_PACKAGE: another package directory with the same sources.
package=${BENCH_PACKAGE:-.}
swift build --package-path "$package" -c release --product SendBenchmark >"$work/build.log" 2>&1 || {
    tail -n 30 "$work/build.log" >&2
    fail "no build"
}
send=$(swift build --package-path "$package" -c release --show-bin-path)/SendBenchmark
flags=(-std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra)
cc "${flags[@]}" -o "$work/bare-nghttp2" Benchmarks/Bare/nghttp2.c -lnghttp2 -lssl -lcrypto
cc "${flags[@]}" -o "$work/bare-libcurl" Benchmarks/Bare/libcurl.c -lcurl

# The sender on one core, the server on another, where there are two.
client_core=() server_core=()
if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null; then
    client_core=(taskset -c 0)
    server_core=(taskset -c 1)
fi

mkfifo "$work/stop"
"${server_core[@]}" "$send" simulate --directory "$work/apns" --latency "$latency" <"$work/stop" >"$work/server" &
simulator=$!
exec 3>"$work/stop"
for _ in $(seq 200); do
    [ -s "$work/server" ] && break
    kill -0 "$simulator" 2>/dev/null || fail "the simulator did not start"
    sleep 0.05
done
read -r port ca_file key_file key_id team_id <"$work/server"
key=(--key-file "$key_file" --key-id "$key_id" --team-id "$team_id")
jwt=$("$send" token "${key[@]}")

# 341 bytes, as an update of a match has.
state='{"home":3,"away":1,"minute":78,"scorers":[{"n":"Okafor","m":12},{"n":"Lindqvist","m":41},{"n":"Haddad","m":67}],'
state+='"stadium":"Riverside","events":[{"t":"yellow","m":55},{"t":"sub","m":62}]}'
body='{"aps":{"timestamp":1790000000,"event":"update","content-state":'"$state"',"stale-date":1790003600,"relevance-score":75}}'
while [ ${#body} -lt 341 ]; do body="${body%\}\}} }}"; done
printf %s "$body" >"$work/body"

measure() {
    local sender="$1" flights="$2"
    case "$sender" in
    bare-*)
        "${client_core[@]}" "$work/$sender" 127.0.0.1 "$port" "$ca_file" "$jwt" "$work/body" "$flights" "$requests"
        ;;
    *)
        "${client_core[@]}" "$send" run "${key[@]}" --transport "$sender" --port "$port" --ca-file "$ca_file" \
            --body-file "$work/body" --requests "$requests" --in-flight "$flights"
        ;;
    esac
}
field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p"; }
median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
server_ticks() { awk '{ print $14 + $15 }' "/proc/$simulator/stat"; }

senders=(bare-nghttp2 nghttp2 bare-libcurl libcurl)
for ((run = 1; run <= runs; run++)); do
    for flights in $in_flight; do
        for sender in "${senders[@]}"; do
            before=$(server_ticks)
            measure "$sender" "$flights" >"$work/line" || fail "$sender failed: $(cat "$work/line")"
            echo "$(field cpu_us <"$work/line") $(field seconds <"$work/line") $(($(server_ticks) - before))" \
                >>"$work/$sender.$flights"
        done
    done
    echo "run $run of $runs" >&2
done

column() { cut -d ' ' -f "$1" "$2" | median; }
printf '%-14s %9s %12s %16s %9s %18s\n' sender 'in flight' requests/s 'CPU µs/request' 'to bare' 'simulator µs'
for flights in $in_flight; do
    for sender in "${senders[@]}"; do
        cpu=$(column 1 "$work/$sender.$flights")
        bare=$(column 1 "$work/bare-${sender#bare-}.$flights")
        awk -v sender="$sender" -v flights="$flights" -v cpu="$cpu" -v bare="$bare" -v n="$requests" \
            -v seconds="$(column 2 "$work/$sender.$flights")" -v ticks="$(column 3 "$work/$sender.$flights")" \
            -v hz="$(getconf CLK_TCK)" 'BEGIN {
                printf "%-14s %9d %12d %16.2f %9.2f %18.2f\n", sender, flights, n / seconds, cpu, cpu / bare,
                    ticks / hz * 1e6 / (n + 2000)
            }'
    done
done
