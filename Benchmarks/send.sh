#!/usr/bin/env bash
# What a request costs the sender: both lanes against the simulator's fast mode, beside the least that C can do.
#   bin/bench send [--requests N] [--runs K] [--in-flight "100 1000"] [--latency MS]
# Every row is the median of K runs, interleaved with the other rows' runs; CPU is user and system time of the sender. Where they are
# installed, Node's http2 client and h2load are measured too; h2load's CPU counts its start and the reading of its list of paths.
source "$(dirname "$0")/lib/bench.sh"

requests=200000 runs=5 in_flight="100 1000" latency=0
options "requests runs in_flight latency" "$@"

build SendBenchmark
compile nghttp2 -lnghttp2 -lssl -lcrypto
compile libcurl -lcurl
start_server --latency "$latency"
jwt=$("$bin/SendBenchmark" token "${key[@]}")

payload "$work/body"

# run_h2load IN-FLIGHT: each request with a path of its own. It says nothing of its CPU, the shell's clock does.
run_h2load() {
    local TIMEFORMAT='%U %S %R' user system seconds
    { time "${core0[@]}" h2load --requests "$requests" --clients 1 --max-concurrent-streams "$1" --input-file "$work/paths" \
        --data "$work/body" --header "authorization: bearer $jwt" --header 'apns-push-type: liveactivity' \
        --header 'apns-topic: com.example.scores.push-type.liveactivity' --header 'apns-priority: 10' \
        --header 'apns-expiration: 0' >"$work/h2load.log" 2>&1; } 2>"$work/h2load.time" || return 1
    grep -q "^status codes: $requests 2xx" "$work/h2load.log" || return 1
    read -r user system seconds <"$work/h2load.time"
    awk -v user="$user" -v kernel="$system" -v n="$requests" -v seconds="$seconds" \
        'BEGIN { printf "{\"cpu_us\":%.3f,\"seconds\":%.3f}\n", (user + kernel) * 1e6 / n, seconds }'
}

measure() {
    local sender="$1" flights="$2"
    case "$sender" in
    h2load) run_h2load "$flights" ;;
    node) "${core0[@]}" node Benchmarks/Bare/node.mjs 127.0.0.1 "$server_port" "$ca_file" "$jwt" "$work/body" "$flights" "$requests" ;;
    bare-*)
        "${core0[@]}" "$work/${sender#bare-}" 127.0.0.1 "$server_port" "$ca_file" "$jwt" "$work/body" "$flights" "$requests"
        ;;
    *)
        "${core0[@]}" "$bin/SendBenchmark" run "${key[@]}" --transport "$sender" --port "$server_port" --ca-file "$ca_file" \
            --body-file "$work/body" --requests "$requests" --in-flight "$flights"
        ;;
    esac
}

senders=(bare-nghttp2 nghttp2 bare-libcurl libcurl)
if command -v node >/dev/null; then senders+=(node); fi
if command -v h2load >/dev/null; then
    senders+=(h2load)
    rest=$(printf 'ab%.0s' {1..72})
    for ((number = 0; number < requests; number++)); do
        printf 'https://127.0.0.1:%d/3/device/%016x%s\n' "$server_port" "$number" "$rest"
    done >"$work/paths"
fi
for ((run = 1; run <= runs; run++)); do
    for flights in $in_flight; do
        for sender in "${senders[@]}"; do
            before=$(cpu "$pid_server")
            measure "$sender" "$flights" >"$work/line" || fail "$sender failed: $(cat "$work/line")"
            echo "$(field cpu_us <"$work/line") $(field seconds <"$work/line") $(($(cpu "$pid_server") - before))" \
                >>"$work/$sender.$flights"
        done
    done
    echo "run $run of $runs" >&2
done

printf '%-14s %9s %12s %16s %9s %18s\n' sender 'in flight' requests/s 'CPU µs/request' 'to bare' 'simulator µs'
for flights in $in_flight; do
    for sender in "${senders[@]}"; do
        cpu=$(column 1 "$work/$sender.$flights")
        bare=$cpu
        # A program's own first 2,000 are not counted; all of h2load's are.
        served=$((requests + 2000))
        case "$sender" in
        node) ;;
        h2load) served=$requests ;;
        *) bare=$(column 1 "$work/bare-${sender#bare-}.$flights") ;;
        esac
        awk -v sender="$sender" -v flights="$flights" -v cpu="$cpu" -v bare="$bare" -v n="$requests" -v served="$served" \
            -v seconds="$(column 2 "$work/$sender.$flights")" -v server="$(column 3 "$work/$sender.$flights")" 'BEGIN {
                printf "%-14s %9d %12d %16.2f %9.2f %18.2f\n", sender, flights, n / seconds, cpu, cpu / bare,
                    server / served
            }'
    done
done
busy
