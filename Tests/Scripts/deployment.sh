# A Redis, an APNs simulator, a gateway and a worker for one run, which end with the script. Source it, then call
# start_deployment.

# start_deployment BINARY COUNT: sets url, control, key, master (its secret), work (a folder for the run) and device.
# COUNT channels follow match-42. A few tokens are dead, and a few are too slow to answer.
start_deployment() {
    local binary="$1" count="$2"
    key=demo master=master-secret-0123456789 device=aaaaaaaa-0000-4000-8000-000000000001
    work=$(mktemp -d "${TMPDIR:-/tmp}/lamplighter-deployment.XXXXXX")
    processes=()
    trap stop_deployment EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    prepare
    start_part redis redis-server config/redis.conf --dir "$work" --port 0 --unixsocket "$work/redis.sock" --logfile ""
    until_ready redis redis-cli -s "$work/redis.sock" ping
    start_part simulator "$binary" simulate --directory "$work/apns" --port 0 --control-port 0 --dead-share 0.02 --json
    until_ready simulator grep -q control_url "$work/simulator.out"
    part() { sed -n "s/.*\"$1\":\"\([^\"]*\).*/\1/p" "$work/simulator.out"; }
    control=$(part control_url)
    : >"$work/lamplighter.yaml"
    export LAMPLIGHTER_CONFIG="$work/lamplighter.yaml" LAMPLIGHTER_REDIS_URL="unix://$work/redis.sock"
    export LAMPLIGHTER_APP_KEY="$key" LAMPLIGHTER_APP_SECRET=app-secret-0123456789
    export LAMPLIGHTER_APP_MASTER_SECRET="$master" LAMPLIGHTER_APP_BUNDLE_ID=com.example.demo
    LAMPLIGHTER_APNS_URL=$(part url) LAMPLIGHTER_APNS_MANAGE_URL=$(part manage_url) LAMPLIGHTER_APNS_CA_FILE=$(part ca_file)
    LAMPLIGHTER_APNS_KEY_FILE=$(part key_file) LAMPLIGHTER_APNS_KEY_ID=$(part key_id)
    LAMPLIGHTER_APNS_TEAM_ID=$(part team_id)
    export LAMPLIGHTER_APNS_URL LAMPLIGHTER_APNS_MANAGE_URL LAMPLIGHTER_APNS_CA_FILE LAMPLIGHTER_APNS_KEY_FILE
    export LAMPLIGHTER_APNS_KEY_ID LAMPLIGHTER_APNS_TEAM_ID
    start_part gateway "$binary" serve --port 0
    until_ready gateway grep -q 'url=http' "$work/gateway.log"
    url=$(sed -n 's/.* url=\(http[^ ]*\).*/\1/p' "$work/gateway.log" | head -n 1)
    export LAMPLIGHTER_GATEWAY_URL="$url"
    start_part worker "$binary" work --name evening
    until_ready worker grep -q 'ready for work' "$work/worker.log"
    before_followers
    LC_ALL=C awk -v count=$((count - 1)) 'BEGIN {
        srand(42)
        for (i = 1; i <= count; i++) {
            token = ""
            for (j = 0; j < 20; j++) token = token sprintf("%08x", int(rand() * 4294967295))
            printf "{\"channel\":\"%08x-0000-4000-8000-%012x\",\"token\":\"%s\"}\n", int(rand() * 4294967295), i, token
        }
    }' >"$work/channels.ndjson"
    "$binary" import "$work/channels.ndjson" --name match-42 >/dev/null
    "$binary" track match-42 "$device" "$(printf 'a1%.0s' {1..80})" >/dev/null
}

# The steps of a script once `work` exists, and once the parts run, before anybody follows.
prepare() { :; }
before_followers() { :; }

# start_part NAME COMMAND…: runs a part of the deployment in the background, with its log in NAME.log.
start_part() {
    local name="$1"
    shift
    "$@" >"$work/$name.out" 2>"$work/$name.log" &
    processes+=($!)
}

# until_ready NAME COMMAND…: waits at most 60 s until the command succeeds.
until_ready() {
    local name="$1" deadline=$((SECONDS + 60))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || {
            echo "the $name did not come up:" >&2
            tail -n 20 "$work/$name.log" >&2
            exit 1
        }
        sleep 0.1
    done
}

stop_deployment() {
    local code=$? index
    trap - EXIT INT TERM
    for ((index = ${#processes[@]} - 1; index >= 0; index--)); do
        kill "${processes[index]}" 2>/dev/null || true
        wait "${processes[index]}" 2>/dev/null || true
    done
    rm -rf "$work"
    exit "$code"
}
