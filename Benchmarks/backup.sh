#!/usr/bin/env bash
# How fast an app is backed up and restored: entries a second, and CPU of the command and of Redis for each.
#   bin/bench backup [--followers N] [--names N]
# --followers: tokens of one name. --names: further names with one follower each. An entry is a token, a name or a channel. The
# backup is sealed with a key. It is restored into an empty Redis, and once more, where nothing is new. Everything shares all cores,
# and Redis forces each turn to the disk.
source "$(dirname "$0")/lib/bench.sh"

followers=500000 names=50000
options "followers names" "$@"
core0=() core1=() gateway_core=()

build lamplighter
start_redis
start_gateway
follow match-1 0 "$followers"
follow_each "$names"
stop gateway
printf '%064d\n' 7 >"$work/key"
chmod 600 "$work/key"
entries=$((followers + 2 * names))

# measured ROW COMMAND…
measured() {
    local row=$1 before after
    shift
    before=("$(cpu "$pid_redis")" "$(date +%s%N)" "$(ps_cpu)")
    "$bin/lamplighter" "$@" --key-file "$work/key" --json >"$work/$row.out" || fail "$row failed"
    after=("$(cpu "$pid_redis")" "$(date +%s%N)" "$(ps_cpu)")
    printf "$figure" "$row" "$(ratio "${entries}000000000" $((after[1] - before[1])) %.0f)" \
        "$(ratio $((after[2] - before[2])) "$entries")" "$(ratio $((after[0] - before[0])) "$entries")"
}
# Microseconds of CPU of this script's ended children.
ps_cpu() {
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.0f", ($14 + $15) * 1000000 / hz }' "/proc/$$/stat"
}

figure='%-10s %12s %12s %12s\n'
printf "$figure" what entries/s 'command µs' 'Redis µs'
measured backup backup "$work/app.backup"
stop redis
rm -rf "$work/appendonlydir" "$work/dump.rdb"
start_redis
measured restore restore "$work/app.backup"
measured again restore "$work/app.backup"
echo "bytes an entry: $(ratio "$(stat -c %s "$work/app.backup")" "$entries")"
echo "restored: $(cat "$work/restore.out")"
busy
