#!/usr/bin/env bash
# What a name with one follower takes in the memory of Redis, before and after its first push, and what each further finished push
# leaves, with the settings that users have.
#   bin/bench memory [--names N] [--pushes N] [--values "1024"]
# --names get a follower each, then a push each, then --pushes each. --values: the limits of a compact hash
# (hash-max-listpack-value) that are compared; config/redis.conf has 1024. The content states are of 42 and 250 bytes. Memory is
# used_memory, when no work and no timer is left.
source "$(dirname "$0")/lib/bench.sh"

names=2000 pushes=5 values=1024 last=1024
options "names pushes values" "$@"
core0=() core1=() gateway_core=()

build lamplighter
start_redis
unset LAMPLIGHTER_PACING_MIN_INTERVAL # The default: a name comes round after its interval.
export LAMPLIGHTER_LIMITS_NAMES=10000000
start_simulator --fast
auth=$(basic master)

# body PREFIX BYTES: an update whose content state has so many bytes.
body() {
    local rest
    rest=$(printf '%*s' $(($2 - 20)) '' | tr ' ' x)
    printf '{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":{"name":"%s-{m}","event":"update",' "$1"
    printf '"content_state":{"home":3,"text":"%s"}}}}}' "$rest"
}
# wave COUNT: so many pushes, one name after the other, and waits for the end of all work and of the reconciler's looks.
wave() {
    load --path /api/push --header "$auth" --header 'Content-Type: application/json' --body "$work/body" --modulus "$names" \
        --connections 16 --count "$1" --rate "$names" >"$work/line" || fail "not all were accepted"
    until [ "$(redis XLEN 'll:{q}:bench:10')" = 0 ] && [ "$(redis ZCARD 'll:{q}:bench:open')" = 0 ]; do sleep 0.2; done
}
used() { redis INFO memory | tr -d '\r' | sed -n 's/^used_memory:\([0-9]*\)$/\1/p'; }

row='%14s %8s %16s %16s %14s\n'
printf "$row" 'compact up to' 'state B' 'a name B' 'with a push B' 'a push B'
run=0
start_gateway
start_worker worker
for value in $values; do
    redis CONFIG SET hash-max-listpack-value "$value" >"$work/line"
    for state in 42 250; do
        run=$((run + 1))
        bare=$(used)
        printf '{"token":"{token}"}' >"$work/track"
        load --method PUT --path "/api/activities/run$run-{m}/channels/{channel}" --modulus "$names" --count "$names" \
            --header "$auth" --body "$work/track" --connections 8 >"$work/line" || fail "no registrations"
        followed=$(used)
        body "run$run" "$state" >"$work/body"
        wave "$names"
        before=$(used)
        wave $((names * pushes))
        # The index packs what is ten seconds old, 1,024 with each 64th push.
        sleep 10
        wave "$last"
        printf "$row" "$value" "$state" "$(((followed - bare) / names))" "$(((before - bare) / names))" \
            "$((($(used) - before) / (names * pushes + last)))"
    done
done
