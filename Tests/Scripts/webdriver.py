"""A small client of W3C WebDriver: Chromium through chromedriver, with the standard library alone."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from free_port import free_port

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
BACKSPACE = "\ue003"


class Failure(Exception):
    pass


class Browser:
    """One headless Chromium. Use it with `with`."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="lamplighter-chromium.")
        # A port of chromedriver's own choice may be in use by a connection of the same number, and chromedriver ends then.
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.session = None
        if not any("successfully on port" in line for line in self.driver.stdout):
            raise Failure("chromedriver did not start")
        options = {
            "binary": shutil.which("chromium"),
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-US",
                     f"--user-data-dir={self.profile}"],
        }
        answer = self.send("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = answer["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self.send("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.profile, ignore_errors=True)

    def tab(self):
        return self.call("GET", "/window")

    def new_tab(self):
        self.show(self.call("POST", "/window/new", {"type": "tab"})["handle"])

    def show(self, tab):
        self.call("POST", "/window", {"handle": tab})

    def restart(self):
        """Forgets every cookie and page."""
        self.open("about:blank")
        self.chromium("Network.clearBrowserCookies")
        self.errors()

    def send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base + path, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise Failure(f"{value['error']}: {value['message']}") from None

    def call(self, method, path, body=None):
        return self.send(method, f"/session/{self.session}{path}", {} if method == "POST" and body is None else body)

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    @property
    def url(self):
        return self.call("GET", "/url")

    def script(self, text, *arguments):
        return self.call("POST", "/execute/sync", {"script": text, "args": list(arguments)})

    def chromium(self, command, **parameters):
        """A command of Chromium's own protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def again(self, act):
        """Does it once more if an element was replaced meanwhile, or is not there yet: live parts of a page are drawn anew every
        two seconds, and what a story waited for may have been on the page before."""
        for _ in range(50):
            try:
                return act()
            except Failure as failure:
                if not str(failure).startswith(("stale element reference", "no such element", "nothing is named")):
                    raise
                time.sleep(0.1)
        return act()

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def labelled(self, label):
        """The control with this accessible name."""
        return self.named(label, ["input", "select", "textarea"])

    def named(self, name, tags):
        def look():
            # The browser computes a name in two calls, so controls whose text or label has it come first.
            found = self.script("""
                const has = (control) => [control.innerText, control.ariaLabel, control.title, control.placeholder,
                    ...[...control.labels ?? []].map((label) => label.innerText)].some((text) => text?.includes(arguments[1]));
                const all = [...document.querySelectorAll(arguments[0])];
                return [...all.filter(has), ...all.filter((control) => !has(control))];
                """, ",".join(tags), name)
            for element in found:
                identifier = element[ELEMENT]
                try:
                    if self.call("GET", f"/element/{identifier}/computedlabel") == name \
                            and self.call("GET", f"/element/{identifier}/displayed"):
                        return identifier
                except Failure as failure:
                    # So chromedriver says of a name that an element is stale.
                    if "does not belong to the document" not in str(failure):
                        raise
            raise Failure(f"nothing is named {name!r} on {self.url}")

        return self.again(look)

    def type(self, label, text):
        def write():
            element = self.labelled(label)
            # As a person does. Cleared first, the field would be left for a moment, in which the page may fill it in.
            self.script("arguments[0].focus(); arguments[0].select();", {ELEMENT: element})
            self.call("POST", f"/element/{element}/value", {"text": text or BACKSPACE})

        self.again(write)

    def choose(self, label, value):
        self.again(lambda: self.script(
            "arguments[0].value = arguments[1];"
            "arguments[0].dispatchEvent(new Event('input', {bubbles: true}));"
            "arguments[0].dispatchEvent(new Event('change', {bubbles: true}));",
            {ELEMENT: self.labelled(label)}, value))

    def press(self, name):
        def act():
            element, url = self.named(name, ["button"]), self.url
            try:
                self.click(element)
            except Failure as failure:
                # On a busy machine the click has led on before its element is looked at once more.
                if not str(failure).startswith("stale element reference") or self.url == url:
                    raise

        self.again(act)

    def click(self, element):
        self.call("POST", f"/element/{element}/click")

    def click_on(self, selector):
        self.again(lambda: self.click(self.find(selector)))

    def follow(self, text):
        self.again(lambda: self.click(self.call("POST", "/element", {"using": "link text", "value": text})[ELEMENT]))

    def text(self, selector="body"):
        return self.script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def until(self, what, check, seconds=120):
        end = time.monotonic() + seconds
        while True:
            value = check()
            if value:
                return value
            if time.monotonic() > end:
                raise Failure(f"waited {seconds} s for {what}; the page {self.url} says:\n{self.text()[:2000]}")
            time.sleep(0.1)

    def size(self, width, height, dark=False):
        self.chromium("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=False)
        self.chromium("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self, path, whole=True):
        data = self.chromium("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **(
            {"clip": self.script("return {x: 0, y: 0, width: innerWidth, scale: 1, "
                                 "height: Math.min(4000, Math.max(innerHeight, document.body.scrollHeight))}")}
            if whole else {}))["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def errors(self):
        """What the browser's console reported as an error since the last call."""
        entries = self.call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]
