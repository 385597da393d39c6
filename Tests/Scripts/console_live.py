"""Live parts behind a proxy, and fields of Compose whose values a browser would change."""

import datetime
import http.client
import http.server
import threading
import urllib.parse

from console_pages import Pages
from webdriver import Failure


class Proxy:
    """Passes requests on to a gateway. While it is `down`, it answers 502 as a proxy whose gateway restarts."""

    def __init__(self, url):
        self.target = urllib.parse.urlsplit(url).netloc
        self.is_down = False
        self.asked = 0
        self.connections = set()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                proxy.asked += 1
                if proxy.is_down:
                    return self.send_error(502)
                connection = http.client.HTTPConnection(proxy.target)
                length = int(self.headers.get("Content-Length") or 0)
                connection.request(self.command, self.path, self.rfile.read(length), dict(self.headers))
                answer = connection.getresponse()
                proxy.connections.add(connection)
                # It went down between the question and its answer.
                if proxy.is_down:
                    return self.send_error(502)
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding"):
                        self.send_header(name, value)
                self.end_headers()
                try:
                    while piece := answer.read1(65536):
                        self.wfile.write(piece)
                except (OSError, ValueError, AttributeError):
                    pass
                proxy.connections.discard(connection)

            do_POST = do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self, is_down):
        self.is_down = is_down
        for connection in list(self.connections):
            connection.close()


class Live(Pages):
    def behind_a_proxy(self):
        """A page lives again after a proxy has answered 502, without anybody touching it."""
        browser = self.browser
        proxy = Proxy(self.options.url)
        browser.open(proxy.url + "/console")
        browser.until("the live part", lambda: browser.script("return !!document.querySelector('[data-live]')"))
        proxy.stop(True)
        browser.until("the word that it is silent", lambda: "No connection to Lamplighter" in browser.text(".silent"))
        asked = proxy.asked
        browser.until("another try", lambda: proxy.asked > asked + 3)
        proxy.stop(False)
        browser.until("the page to live again", lambda: browser.script(
            "return document.querySelector('.silent').hidden && !document.querySelector('.stale')"))
        browser.errors()
        browser.open(self.url)
        self.say("lives again after a proxy's 502")

    def set(self, selector, text):
        self.browser.script(
            "const field = document.querySelector(arguments[0]); field.value = arguments[1];"
            "field.dispatchEvent(new Event('input', {bubbles: true}));", selector, text)

    def numbers(self):
        """A field of Compose changes its member alone, digit for digit."""
        browser = self.browser
        self.api("PUT", "/api/schemas/Numbers", {"names": ["number-*"], "content_state": {
            "type": "object", "properties": {
                "home": {"type": "integer"}, "id": {"type": "integer"}, "price": {"type": "number"},
                "word": {"type": "string"}}}})
        browser.open(self.url + "/compose?name=number-1")
        browser.until("the fields", lambda: browser.script("return !!document.querySelector('[data-key=home]')"))
        state = '{"home":1,"id":9007199254740993,"price":1.10,"10":"x","9":"y"}'
        self.set("#state", state)
        for key, typed, old, new in [
                ("home", "2", '"home":1', '"home":2'), ("id", "9007199254740995", "0993", "0995"),
                ("price", "1.20", "1.10", "1.20"), ("price", "x", "", ""), ("price", ".5", "1.20", "0.5"),
                ("home", "", '"home":2,', ""), ("word", 'a"b', '"y"}', '"y",\n  "word": "a\\"b"}')]:
            shown = browser.script("return document.querySelector(`[data-key=${arguments[0]}]`).value", key)
            state = state.replace(old, new)
            if typed == "x":
                # A browser has no value for this, which is no wish to remove the member.
                browser.call("POST", f"/element/{browser.find('[data-key=price]')}/value", {"text": "e"})
            else:
                self.set(f"[data-key={key}]", typed)
            found = browser.script("return document.querySelector('#state').value")
            if found != state:
                raise Failure(f"{key} was {shown}, then {typed}: {found} in place of {state}")
        self.set("#state", '{"id":9007199254740993}')
        if browser.script("return document.querySelector('[data-key=id]').value") != "9007199254740993":
            raise Failure("the field shows other digits than the JSON")
        self.say("changes one member by a field, digit for digit")

    def clocks(self):
        """A time that the clocks skip or show twice is refused."""
        browser = self.browser
        browser.chromium("Emulation.setTimezoneOverride", timezoneId="Europe/Berlin")
        today = datetime.date.today()

        def sunday(month):
            """The next last Sunday of the month."""
            for year in (today.year, today.year + 1):
                day = datetime.date(year, month, 31)
                day -= datetime.timedelta((day.weekday() + 1) % 7)
                if day > today:
                    return day
        for month, word, refusal in [(3, "does not exist in Europe/Berlin", "the clocks skip it"),
                                     (10, "happens twice in Europe/Berlin", "happens twice where you are")]:
            browser.open(self.url + "/compose?name=match-42&event=update")
            browser.script("document.querySelector('details:has(#send-at)').open = true")
            self.set("#send-at", f"{sunday(month)}T02:30")
            if word not in browser.text("#send-at-zone"):
                raise Failure(f"{sunday(month)}: {browser.text('#send-at-zone')}")
            browser.press("Publish")
            browser.until("the refusal", lambda: refusal in browser.text("[role=alert]"))
            self.expected(browser.errors(), "422")
        browser.chromium("Emulation.setTimezoneOverride", timezoneId="")
        self.say("refuses a time that the clocks skip or show twice")

    def expected(self, errors, status):
        self.problems += [error for error in errors if status not in error]
