#!/usr/bin/env bash
# What questions cost while a deployment is full: how long the gateway takes to answer, and the memory of the index behind them.
#   bin/bench ask [--names N] [--pushes N] [--count N] [--send yes]
# --names: names with one follower each; a channel follows twenty. --pushes: pushes of one token that are accepted and kept, and
# with --send also sent, which takes some ten minutes a million. Each question is then asked --count times (200), one at a time,
# about names, channels and pushes all over the deployment. Times are in milliseconds.
source "$(dirname "$0")/lib/bench.sh"
source Benchmarks/lib/fill.sh

names=1000000 pushes=1000000 count=200 send=no
options "names pushes count send" "$@"

build lamplighter
start_full "$names" "$pushes"
fill_names

# The index: all its parts, and the entries in them.
redis --scan --pattern 'll:fo:*' >"$work/parts"
entries=$(sed 's/.*/HLEN &/' "$work/parts" | redis | awk '{ n += $1 } END { print n + 0 }')
bytes=$(sed 's/.*/MEMORY USAGE & SAMPLES 0/' "$work/parts" | redis | awk '{ n += $1 } END { print n + 0 }')

[ "$send" = no ] || start_worker worker
fill_pushes "$pushes"
if [ "$send" != no ]; then
    until [ "$(redis ZCARD 'll:{q}:bench:open')" = 0 ]; do sleep 0.5; done
    stop worker
fi

printf 'index: %s entries, %s bytes an entry\n\n' "$entries" "$(ratio "$bytes" "$entries" %.1f)"
printf '%-52s %8s %8s %8s\n' question p50 p99 most
question() { ask "$count" "$master" "$@"; }
question 'a channel' '/api/channels/{channel}'
question 'a channel of a name (explain)' '/api/activities/order-{n}-15/channels/{channel}'
question '100 channels' '/api/channels?limit=100'
question 'a name' '/api/activities/order-{n}-15'
question '100 names' '/api/activities?limit=100'
question '100 names with a prefix' '/api/activities?limit=100&prefix=order-{n}-15'
question 'names that contain a text' '/api/activities?limit=100&contains=-{n}-'
question '100 ended names (there are none)' '/api/activities?limit=100&ended=true'
question '100 pushes' '/api/pushes?limit=100'
question '100 pushes of a name' '/api/pushes?limit=100&name=order-{n}-15'
question 'pushes that failed (there are none)' '/api/pushes?limit=100&state=failed'
question 'sums of 14 days' '/api/sums'
busy
