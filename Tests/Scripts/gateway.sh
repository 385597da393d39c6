# A Redis and a gateway for one run, which end with the script. Source it, then call start_gateway.

# start_gateway BINARY APP-KEY: sets url, key, master (its secret) and work (a folder for the run).
start_gateway() {
    key="$2" master=master-secret-0123456789
    work=$(mktemp -d "${TMPDIR:-/tmp}/lamplighter-gateway.XXXXXX")
    processes=()
    trap stop_gateway EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    redis-server config/redis.conf --dir "$work" --port 0 --unixsocket "$work/redis.sock" --logfile "" \
        >"$work/redis.log" &
    processes+=($!)
    until redis-cli -s "$work/redis.sock" ping >/dev/null 2>&1; do sleep 0.1; done
    : >"$work/lamplighter.yaml"
    LAMPLIGHTER_CONFIG="$work/lamplighter.yaml" LAMPLIGHTER_REDIS_URL="unix://$work/redis.sock" \
        LAMPLIGHTER_APP_KEY="$key" LAMPLIGHTER_APP_SECRET=app-secret-0123456789 \
        LAMPLIGHTER_APP_MASTER_SECRET="$master" LAMPLIGHTER_APP_BUNDLE_ID=com.example.app \
        LAMPLIGHTER_APNS_TEAM_ID=TEAM123456 LAMPLIGHTER_FCM_SERVICE_ACCOUNT_FILE="$work/service-account.json" \
        LAMPLIGHTER_GATEWAY_MAX_QUEUE=100000000 LAMPLIGHTER_GATEWAY_MAX_QUEUE_TOTAL=100000000 \
        "$1" serve --port 0 2>"$work/gateway.log" &
    gateway=$!
    processes+=("$gateway")
    until grep -q 'url=http' "$work/gateway.log"; do
        kill -0 "$gateway" 2>/dev/null || {
            cat "$work/gateway.log" >&2
            exit 1
        }
        sleep 0.1
    done
    url=$(sed -n 's/.* url=\(http[^ ]*\).*/\1/p' "$work/gateway.log" | head -n 1)
}

stop_gateway() {
    trap - EXIT INT TERM
    [ ${#processes[@]} = 0 ] || kill "${processes[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
