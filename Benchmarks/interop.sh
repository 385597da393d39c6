#!/usr/bin/env bash
# Both lanes against HTTP/2 servers that others wrote (bin/interop): each token gets each update once, and each answer is understood.
#   bin/bench interop [--servers "nginx …"] [--transports "nghttp2 libcurl"] [--tokens N] [--updates K] [--install yes|no]
# 8 of 256 tokens get a 410 and one a 400, where a server can answer that. A server that is not installed is named and left out.
source "$(dirname "$0")/lib/bench.sh"
source Benchmarks/Interop/servers.sh

servers="${all_servers[*]}" transports="nghttp2 libcurl" tokens=5000 updates=3 install=no
options "servers transports tokens updates install" "$@"
for server in $servers; do
    declare -F "serve_$server" >/dev/null || fail "no server '$server'; there are: ${all_servers[*]}"
done

[ "$install" = no ] || install_servers $servers
build SendBenchmark
certificate
openssl ecparam -name prime256v1 -genkey -noout 2>/dev/null | openssl pkcs8 -topk8 -nocrypt -out "$work/key.p8"
payload "$work/body"

echo "libcurl $(curl-config --version 2>/dev/null | cut -d ' ' -f 2), nghttp2 $(pkg-config --modversion libnghttp2)"
printf '%-12s %-10s %18s %9s %7s %9s %9s %10s  %s\n' \
    server transport 'right answers' 'of all' wrong repeats slowest 'CPU µs' causes
wrong=0
for server in $servers; do
    if ! "has_$server"; then
        echo "$server: not installed; --install yes installs it"
        continue
    fi
    for transport in $transports; do
        server_port=$(free_port) rejects=(--rejects)
        "serve_$server"
        await "$server" answers_http2
        "$bin/SendBenchmark" deliver --key-file "$work/key.p8" --key-id KEY1234567 --team-id TEAM123456 --transport "$transport" \
            --port "$server_port" --ca-file "$work/ca.pem" --body-file "$work/body" --tokens "$tokens" --updates "$updates" \
            "${rejects[@]}" >"$work/line" 2>"$work/sender.log" || fail "$transport to $server: no result"
        stop_servers
        right=$(($(field delivered <"$work/line") + $(field rejected <"$work/line")))
        printf '%-12s %-10s %18d %9d %7d %9d %7.1f s %10.1f  %s\n' "$server" "$transport" "$right" "$(field targets <"$work/line")" \
            "$(field wrong <"$work/line")" "$(field possible_repeats <"$work/line")" "$(field seconds <"$work/line")" \
            "$(field cpu_microseconds <"$work/line")" "$(sed -n 's/.*"causes":{\([^}]*\)}.*/\1/p' "$work/line")"
        [ "$right" = "$(field targets <"$work/line")" ] || wrong=$((wrong + 1))
    done
done
busy
[ "$wrong" = 0 ] || { echo "$wrong rows are not complete" >&2 && exit 1; }
