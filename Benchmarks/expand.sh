#!/usr/bin/env bash
# Tokens from Redis through the audience to the lanes' queue: a worker whose lanes send nothing, beside bare hiredis.
#   bin/bench expand [--tokens N] [--runs K] [--tls yes]
# Once for everyone, once for (gold or silver) and not muted: sets of a half, three tenths and three tenths of the channels.
# Redis on one core, the reader on another; CPU a token read; every row is the median of K runs, interleaved.
# The worker reads through a unix socket; with --tls yes also through TCP on loopback, and through TLS on that.
source "$(dirname "$0")/lib/bench.sh"

tokens=1000000 runs=5 tls=no
options "tokens runs tls" "$@"

build lamplighter ExpandBenchmark
compile expand -lhiredis
ports=() tcp=16398 encrypted=16399
if [ "$tls" = yes ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bench \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$work/redis.key" -out "$work/redis.pem" 2>"$work/openssl.log" ||
        fail "no certificate"
    ports=(--port "$tcp" --tls-port "$encrypted" --tls-auth-clients no --tls-ca-cert-file "$work/redis.pem"
        --tls-cert-file "$work/redis.pem" --tls-key-file "$work/redis.key")
fi
start_redis --save "" --appendonly no "${ports[@]}"
start_gateway
follow match 0 "$tokens"

# tag NAME FIRST COUNT: the sets as docs/keyspace.md has them.
tag() {
    printf '*3\r\n$4\r\nSADD\r\n$%d\r\n%s\r\n$16\r\n{raw}\r\n' $((19 + ${#1})) "ll:t:{bench:bench:$1}" >"$work/sadd"
    "$work/load" --print --body "$work/sadd" --first "$2" --count "$3" | redis --pipe >"$work/pipe.out"
}
tag gold 0 $((tokens / 2))
tag silver $((tokens / 2)) $((tokens * 3 / 10))
tag muted $((tokens * 7 / 10)) $((tokens * 3 / 10))
sets=("ll:t:{bench:bench:gold}" "ll:t:{bench:bench:silver}" "ll:t:{bench:bench:muted}")
for set in "${sets[@]}"; do [ "$(redis SCARD "$set")" -gt 0 ] || fail "$set is empty"; done
chosen=$((tokens * 7 / 10))

measure() {
    local reader=("$bin/ExpandBenchmark" --name match --tokens "$tokens")
    case "$1" in
    bare-all) "${core0[@]}" "$work/expand" "$work/redis.sock" bench match "$tokens" ;;
    bare-tags) "${core0[@]}" "$work/expand" "$work/redis.sock" bench match "$tokens" "${sets[@]}" ;;
    *)
        case "$1" in
        worker-*) reader+=(--redis "$LAMPLIGHTER_REDIS_URL") ;;
        tcp-*) reader+=(--redis "redis://127.0.0.1:$tcp") ;;
        tls-*) reader+=(--redis "rediss://127.0.0.1:$encrypted" --redis-ca-file "$work/redis.pem") ;;
        esac
        case "$1" in
        *-all) "${core0[@]}" "${reader[@]}" --audience "$tokens" ;;
        *-tags) "${core0[@]}" "${reader[@]}" --audience "$chosen" --tagged ;;
        esac
        ;;
    esac
}
rows="bare-all worker-all bare-tags worker-tags"
[ "$tls" != yes ] || rows="bare-all worker-all tcp-all tls-all bare-tags worker-tags tcp-tags tls-tags"
for ((run = 1; run <= runs; run++)); do
    for row in $rows; do
        measure "$row" >"$work/line" 2>"$work/measure.log" || fail "$row failed"
        echo "$(field seconds <"$work/line") $(field cpu_us <"$work/line") $(field redis_us <"$work/line")" >>"$work/$row"
        [[ "$row" != *tags ]] || [ "$(field taken <"$work/line")" = "$chosen" ] || fail "$row took $(field taken <"$work/line")"
    done
    echo "run $run of $runs" >&2
done

printf '%-16s %-10s %12s %12s %12s\n' reader audience tokens/s 'CPU µs' 'Redis µs'
for row in $rows; do
    printf '%-16s %-10s %12s %12.3f %12.3f\n' "${row%-*}" "${row#*-}" "$(ratio "$tokens" "$(column 1 "$work/$row")" %.0f)" \
        "$(column 2 "$work/$row")" "$(column 3 "$work/$row")"
done
busy
