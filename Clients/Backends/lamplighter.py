"""The calls of a backend, with the standard library of Python 3.9 or later.

    lamplighter = Lamplighter(url, app_key, app_secret, master_secret)
    token = lamplighter.token(channel)
    lamplighter.publish("match-42", {"home": 1, "away": 0, "clock": "12:00"}, key="match-42/7")
    lamplighter.end("match-42", {"home": 1, "away": 0, "clock": "12:00"}, key="match-42/end")
"""

import base64
import email.utils
import http.client
import json
import random
import re
import time
import urllib.request


class LamplighterError(Exception):
    """The gateway refused a call, or nothing that answered was the gateway (status 0, or a 2xx in another form)."""

    def __init__(self, status, text):
        super().__init__(f"{status} {text[:1000]}")
        self.status = status


class _AsItComes(urllib.request.HTTPErrorProcessor):
    """Follows no redirect: urllib would send the secret to the other host."""

    def http_response(self, request, response):
        return response

    https_response = http_response


class Lamplighter:
    # Attempts, seconds of one, and the longest pause between two. A user waits for a token: five seconds at most.
    PATIENCE = {"GET": (2, 2, 1), "POST": (6, 30, 60)}

    def __init__(self, url, app_key, app_secret, master_secret):
        self.url = url.rstrip("/")
        self.app = self._basic(app_key, app_secret)
        self.master = self._basic(app_key, master_secret)

    def token(self, channel):
        """The token that the app of this channel asks for. Check first that the channel is the caller's."""
        return self._call("GET", "/api/auth/device?only=reports", self.app, "X-UA-Channel-ID", channel, "token")

    def publish(self, name, content_state, key, event="update"):
        """Sends a content state to everybody who follows the name, and returns the push id.

        `key` names this publish: a repetition with the same key is sent once.
        """
        activity = {"name": name, "event": event, "content_state": content_state}
        push = {"audience": "all", "device_types": ["ios"], "notification": {"ios": {"live_activity": activity}}}
        return self._call("POST", "/api/push", self.master, "Idempotency-Key", key, "push_ids", push)[0]

    def end(self, name, content_state, key):
        return self.publish(name, content_state, key, event="end")

    @staticmethod
    def _basic(user, secret):
        return "Basic " + base64.b64encode(f"{user}:{secret}".encode()).decode()

    def _call(self, method, path, authorization, header, text, member, body=None):
        """Repeats a 408, 429, 5xx, a broken connection, and a 2xx that is not the gateway's."""
        if not isinstance(text, str) or not re.fullmatch("[ -~]{1,255}", text):
            raise ValueError(f"the {'channel' if body is None else 'key'} must be 1 to 255 printable ASCII characters, not {text!r}")
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"Authorization": authorization, "Content-Type": "application/json", header: text}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        attempts, timeout, longest = self.PATIENCE[method]
        for attempt in range(attempts):
            asked, deadline = 0, time.monotonic() + timeout
            try:
                with urllib.request.build_opener(_AsItComes).open(request, timeout=timeout) as answer:
                    asked = self._seconds(answer.headers.get("Retry-After", ""))
                    status, text = answer.status, b""
                    # urllib's timeout is that of one read. An answer that is cut off is no JSON.
                    while (part := answer.read1(65536)) and time.monotonic() < deadline:
                        text += part
                failure = LamplighterError(status, text.decode(errors="replace"))
                if status // 100 == 2 and (value := self._member(text, member)):
                    return value
                if status // 100 != 2 and status < 500 and status not in (408, 429):
                    break
            except (OSError, http.client.HTTPException) as error:
                failure = LamplighterError(0, str(error))
            if attempt + 1 < attempts:
                time.sleep(min(max(asked, random.uniform(0.5, 1) * 2**attempt), longest))
        raise failure

    @staticmethod
    def _member(text, member):
        """The member of an object, or None if the text is nothing of the kind."""
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            return None
        value = answer.get(member) if isinstance(answer, dict) else None
        return value if isinstance(value, (str, list)) else None

    @staticmethod
    def _seconds(retry_after):
        """`Retry-After` is a number or a date. A proxy may send anything."""
        if re.fullmatch("[0-9]+", retry_after):
            return float(retry_after)
        try:
            return email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return 0


if __name__ == "__main__":
    import os
    import sys

    client = Lamplighter(*(os.environ["LAMPLIGHTER_" + name] for name in ("GATEWAY_URL", "APP_KEY", "APP_SECRET", "APP_MASTER_SECRET")))
    call, *rest = sys.argv[1:]
    if call == "token":
        print(client.token(rest[0]))
    else:
        print({"publish": client.publish, "end": client.end}[call](rest[0], json.loads(rest[1]), rest[2]))
