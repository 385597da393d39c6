#!/usr/bin/env bash
# What dead tokens cost: throughput when APNs falls to one stream after each rejection, until it accepts a push again.
#   bin/bench dead [--requests N] [--runs K] [--lanes "1 2"] [--shares "0 0.01 0.05 0.2"] [--latency MS] [--streams N]
# A new connection for every run, no warm-up: what a push finds. Every figure is the median of K runs.
source "$(dirname "$0")/lib/bench.sh"

requests=50000 runs=3 lanes="1 2" shares="0 0.01 0.05 0.2" latency=50 streams=1000
options "requests runs lanes shares latency streams" "$@"

build SendBenchmark
payload "$work/body"

printf '%-10s %6s %8s %12s %16s\n' sender lanes dead requests/s 'CPU µs/request'
for share in $shares; do
    start_server --streams "$streams" --latency "$latency" --dead-share "$share" --drop
    for sender in libcurl nghttp2; do
        for count in $lanes; do
            rm -f "$work/figures"
            for ((run = 1; run <= runs; run++)); do
                timeout 120 "$bin/SendBenchmark" run "${key[@]}" \
                    --transport "$sender" --port "$server_port" --ca-file "$ca_file" --body-file "$work/body" \
                    --requests "$requests" --in-flight "$streams" --lanes "$count" --warm-up 0 --dead >"$work/line" ||
                    echo '{"seconds":inf,"cpu_us":0}' >"$work/line"
                echo "$(field seconds <"$work/line") $(field cpu_us <"$work/line")" >>"$work/figures"
            done
            seconds=$(column 1 "$work/figures")
            awk -v sender="$sender" -v lanes="$count" -v share="$share" -v n="$requests" -v seconds="${seconds:-0}" \
                -v cpu="$(column 2 "$work/figures")" 'BEGIN {
                    rate = seconds > 0 ? sprintf("%d", n / seconds) : "under " int(n / 120)
                    printf "%-10s %6d %7s%% %12s %16.1f\n", sender, lanes, share * 100, rate, cpu
                }'
        done
    done
    stop_server
done
busy
