"""The calls of a backend, with the standard library of Python 3.9 or later.

    lamplighter = Lamplighter(url, app_key, app_secret, master_secret)
    token = lamplighter.token(channel)
    lamplighter.publish("match-42", {"home": 1, "away": 0, "clock": "12:00"}, key="match-42/7")
    lamplighter.end("match-42", {"home": 1, "away": 0, "clock": "12:00"}, key="match-42/end")
"""

import base64
import json
import random
import time
import urllib.error
import urllib.request


class LamplighterError(Exception):
    """The gateway refused a call, or did not answer it (status 0)."""

    def __init__(self, status, text):
        super().__init__(f"{status} {text}")
        self.status = status


class Lamplighter:
    def __init__(self, url, app_key, app_secret, master_secret, attempts=6):
        self.url = url.rstrip("/")
        self.app = self._basic(app_key, app_secret)
        self.master = self._basic(app_key, master_secret)
        self.attempts = attempts

    def token(self, channel):
        """The token that the app of this channel asks for. Check first that the channel is the caller's."""
        return self._call("GET", "/api/auth/device?only=reports", self.app, {"X-UA-Channel-ID": channel})["token"]

    def publish(self, name, content_state, key, event="update"):
        """Sends a content state to everybody who follows the name, and returns the push id.

        `key` names this publish: a repetition with the same key is sent once.
        """
        activity = {"name": name, "event": event, "content_state": content_state}
        push = {"audience": "all", "device_types": ["ios"], "notification": {"ios": {"live_activity": activity}}}
        return self._call("POST", "/api/push", self.master, {"Idempotency-Key": key}, push)["push_ids"][0]

    def end(self, name, content_state, key):
        return self.publish(name, content_state, key, event="end")

    @staticmethod
    def _basic(user, secret):
        return "Basic " + base64.b64encode(f"{user}:{secret}".encode()).decode()

    def _call(self, method, path, authorization, headers, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": authorization, "Content-Type": "application/json", **headers}
        for attempt in range(self.attempts):
            asked = 0.0
            try:
                request = urllib.request.Request(self.url + path, data, headers, method=method)
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                failure = LamplighterError(error.code, error.read().decode(errors="replace"))
                if error.code < 500 and error.code not in (408, 429):
                    raise failure from None
                asked = float(error.headers.get("Retry-After") or 0)
            except OSError as error:
                failure = LamplighterError(0, str(error))
            if attempt + 1 < self.attempts:
                time.sleep(max(asked, random.uniform(0.5, 1) * 2**attempt))
        raise failure


if __name__ == "__main__":
    import os
    import sys

    client = Lamplighter(*(os.environ["LAMPLIGHTER_" + name] for name in ("GATEWAY_URL", "APP_KEY", "APP_SECRET", "APP_MASTER_SECRET")))
    call, *rest = sys.argv[1:]
    if call == "token":
        print(client.token(rest[0]))
    else:
        print({"publish": client.publish, "end": client.end}[call](rest[0], json.loads(rest[1]), rest[2]))
