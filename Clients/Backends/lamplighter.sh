#!/bin/sh
# The calls of a backend with curl. It needs LAMPLIGHTER_GATEWAY_URL, LAMPLIGHTER_APP_KEY, and the secret that the call needs:
# LAMPLIGHTER_APP_SECRET for `token`, LAMPLIGHTER_APP_MASTER_SECRET or a credential's for the others.
#
#   lamplighter.sh token CHANNEL
#   lamplighter.sh publish NAME CONTENT_STATE KEY
#   lamplighter.sh end NAME CONTENT_STATE KEY
#
# KEY names this publish: a repetition with the same key, after a failure, is sent once. NAME stands in JSON as it is.
set -eu

# Retries a 408, 429, 5xx and a broken connection, and waits as long as `Retry-After` says.
call() { curl -sS --fail-with-body --retry 5 --retry-connrefused --max-time 30 "$@"; }

# push EVENT NAME CONTENT_STATE KEY
push() {
    call -u "$LAMPLIGHTER_APP_KEY:$LAMPLIGHTER_APP_MASTER_SECRET" -H 'Content-Type: application/json' \
        -H "Idempotency-Key: $4" "$LAMPLIGHTER_GATEWAY_URL/api/push" -d "$(printf \
            '{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":{"name":"%s","event":"%s","content_state":%s}}}}' \
            "$2" "$1" "$3")"
}

case "$1" in
# The answer's `token` goes to the app. Ask first whether the channel is the caller's.
token) call -u "$LAMPLIGHTER_APP_KEY:$LAMPLIGHTER_APP_SECRET" -H "X-UA-Channel-ID: $2" "$LAMPLIGHTER_GATEWAY_URL/api/auth/device?only=reports" ;;
publish) push update "$2" "$3" "$4" ;;
end) push end "$2" "$3" "$4" ;;
*) exit 64 ;;
esac
