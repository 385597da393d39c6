#!/usr/bin/env bash
# Both platforms under one name: what a follower on Android costs beside one on iOS, and that iOS does not go at FCM's pace.
#   bin/bench platforms [--ios N] [--android N] [--dead SHARE] [--updates N] [--every S]
# First a name of each platform: bytes of Redis a follower (a second name has the address already), then CPU a token of one push
# behind a first one; a share of the addresses is dead, and is met once. Then a name of both with updates every few seconds: when
# each has reached iOS, and when the last has reached Android. FCM's quota is 600,000 a minute, and its rate rises for a minute.
source "$(dirname "$0")/lib/bench.sh"

ios=20000 android=100000 dead=0.3 updates=6 every=3
options "ios android dead updates every" "$@"

build lamplighter
start_redis
start_simulator --fcm-quota 600000
said=$(cat "$work/simulator.out")
LAMPLIGHTER_FCM_URL=$(text fcm_url <<<"$said")
LAMPLIGHTER_FCM_SERVICE_ACCOUNT_FILE=$(text fcm_service_account_file <<<"$said")
LAMPLIGHTER_FCM_CA_FILE=$(text ca_file <<<"$said")
export LAMPLIGHTER_FCM_URL LAMPLIGHTER_FCM_SERVICE_ACCOUNT_FILE LAMPLIGHTER_FCM_CA_FILE
start_gateway
start_worker worker
: >"$work/empty.yaml"
export LAMPLIGHTER_CONFIG="$work/empty.yaml"
run() { "$bin/lamplighter" "$@"; }

used() { redis info memory | sed -n 's/^used_memory:\([0-9]*\).*/\1/p'; }
# lines PLATFORM COUNT: registrations for `import`.
lines() {
    python3 - "$1" "$2" <<'PY'
import random, sys
random.seed(sys.argv[1])
for number in range(int(sys.argv[2])):
    channel = f'"channel":"{random.getrandbits(32):08x}-0000-4000-8000-{number:012x}"'
    if sys.argv[1] == "ios":
        print(f'{{{channel},"token":"{random.getrandbits(256):064x}"}}')
    else:
        print(f'{{{channel},"platform":"android","token":"p{number:07d}:APA91b{random.getrandbits(500):0128x}"}}')
PY
}
import() { run import "$work/$1.ndjson" --name "$2" >/dev/null || fail "no import"; }
push() { run publish "$1" --platforms "$2" --content-state '{"score":"1:0"}' --wait --json >"$work/push" || fail "not delivered"; }

printf '%-10s %14s %14s %12s %12s %10s %10s\n' platform 'B a follower' 'B a 2nd name' 'worker us' 'Redis us' delivered pruned
for platform in ios android; do
    count=${!platform}
    lines "$platform" "$count" >"$work/$platform.ndjson"
    before=$(used)
    import "$platform" "$platform-1"
    first=$(used)
    import "$platform" "$platform-2"
    second=$(used)
    if [ "$platform" = android ]; then
        curl -s -X POST "$control/simulator/fcm/faults" -d "{\"dead_share\":$dead,\"dead_reasons\":{\"UNREGISTERED\":1}}" >"$work/faults"
    fi
    push "$platform-1" "$platform"
    pruned=$(field pruned <"$work/push")
    worker=$(cpu "$pid_worker") server=$(cpu "$pid_redis")
    push "$platform-1" "$platform"
    worker=$(($(cpu "$pid_worker") - worker)) server=$(($(cpu "$pid_redis") - server)) sent=$(field delivered <"$work/push")
    printf '%-10s %14s %14s %12s %12s %10s %10s\n' "$platform" "$(((first - before) / count))" "$(((second - first) / count))" \
        "$(ratio "$worker" "$sent")" "$(ratio "$server" "$sent")" "$sent" "$pruned"
done

import ios both
import android both
python3 - "$LAMPLIGHTER_GATEWAY_URL" "$(basic master)" "$ios" "$updates" "$every" <<'PY'
import json, sys, time, urllib.request

url, header, ios, updates, every = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])


def call(method, path, body=None):
    request = urllib.request.Request(url + path, method=method, data=body and json.dumps(body).encode())
    for line in (header, "Content-Type: application/json"):
        request.add_header(*line.split(": ", 1))
    return json.load(urllib.request.urlopen(request, timeout=30))


def publish(number):
    block = {"name": "both", "event": "update", "content_state": {"n": number}}
    return call("POST", "/api/push", {
        "audience": "all", "device_types": ["ios", "android"],
        "notification": {"ios": {"live_activity": block}, "android": {"live_update": {**block, "type": "match"}}}})


began, pushes, ended = time.time(), [], {}
while (len(ended) < updates or state != "done") and time.time() - began < 600:
    if len(pushes) < updates and time.time() - began >= len(pushes) * every:
        pushes.append((publish(len(pushes))["push_ids"][0], time.time()))
    for number, (push, at) in enumerate(pushes):
        if number in ended and number < updates - 1:
            continue
        ledger = call("GET", "/api/push/" + push)
        state = ledger["state"]
        reached = ledger.get("platforms", {}).get("ios", {}).get("delivered", 0) == ios
        if number not in ended and (reached or state == "superseded"):
            ended[number] = (state if state == "superseded" else "reached iOS", time.time() - at)
    time.sleep(0.1)
for number, (what, after) in sorted(ended.items()):
    print(f"update {number + 1}: {what} after {after:.1f} s")
print(f"the last update: {state} after {time.time() - pushes[-1][1]:.1f} s")
PY
