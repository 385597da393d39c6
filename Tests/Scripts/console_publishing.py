"""A publisher's way: signs in, composes, looks, publishes, keeps a draft, schedules, and tries on a test device."""

from console_live import Live
from console_pages import DEVICE
from webdriver import Failure


class Publishing(Live):
    def sign_in(self):
        browser = self.browser
        browser.open(self.url + "/names")
        self.look("sign-in")
        browser.type("App key", self.options.key)
        browser.type("Master secret", "wrong")
        browser.press("Sign in")
        browser.until("the refusal", lambda: "do not belong together" in browser.text())
        # A browser reports each answer of 400 or more.
        self.look("sign-in-refused", expected="401")
        browser.type("Master secret", self.options.secret)
        browser.press("Sign in")
        browser.until("the page that was asked for", lambda: browser.url.endswith("/console/names"))
        if self.options.secret in browser.script("return document.documentElement.outerHTML"):
            raise Failure("the secret is in the page")
        if browser.script("return document.cookie"):
            raise Failure("a script can read the cookie")
        self.say("signs in, and lands on the page that was asked for")

    def compose(self):
        browser = self.browser
        browser.open(self.url + "/compose?name=match-42")
        # Fields come from the schema, and write the JSON.
        browser.type("Name", "match-42")
        browser.type("Content state", '{"home": 1, "away": 0, "minute": 23, "scorer": "Ada"}')
        browser.type("Alert title", "Goal for the home team")
        browser.type("Alert body", "1 : 0 by Ada in the 23rd minute")
        browser.until("the sketch", lambda: "1 : 0" in browser.text("#check .lock-main"))
        browser.until("the byte counter", lambda: "of 4,096 bytes" in browser.text("#check"))
        self.look("compose")
        browser.press("Preview")
        wanted = f"{self.options.followers:,} lock screens will light"
        browser.until("the preview", lambda: wanted in browser.text())
        self.say(f"previews: {browser.text('.reach')}")
        self.look("preview")
        browser.press("Publish")
        browser.until("the question", lambda: wanted in browser.text(".lead"))
        self.look("confirm")
        browser.press(browser.text(".primary"))
        browser.until("the room", lambda: "/console/names/match-42" in browser.url)
        browser.until("the way back", lambda: "Take it back" in browser.text("#soon"))
        if browser.script("return document.activeElement.tagName") != "H1":
            raise Failure("the focus is on a button, so a second Enter takes the push back")
        self.look("undo")
        browser.until("the push in the room", lambda: "sending" in browser.text("#timeline") or "done" in browser.text("#timeline"), 60)
        self.look("room-live")
        browser.click_on("#timeline .line-of a")
        browser.until("the push's page", lambda: "/console/pushes/" in browser.url)
        browser.until("the end of the push", lambda: browser.text(".standing .state").startswith("done"), 300)
        ledger = self.ledger()
        if ledger["targets"] != self.options.followers or ledger["delivered"] + ledger["pruned"] != ledger["targets"]:
            raise Failure(f"the page says {ledger}")
        self.push = browser.url
        self.say(f"publishes, and watches it finish: {ledger}")

    def ledger(self):
        rows = self.browser.script(
            "return [...document.querySelectorAll('.ledger > div')].map(row => "
            "[row.querySelector('dt').innerText, row.querySelector('dd').innerText])")
        return {name: int(count.replace(",", "")) for name, count in rows}

    def drafts(self):
        """A draft outlives a reload, a way back, and the end of the session; a publish can be taken back."""
        browser = self.browser
        browser.open(self.url + "/compose")
        browser.type("Name", "match-42")
        browser.until("the fields of the name", lambda: "followers" in browser.text("#of-name"))
        if '"home"' not in browser.script("return document.querySelector('#state').value"):
            raise Failure("the last state of the name is not filled in")
        browser.until("the names", lambda: browser.script(
            "return [...document.querySelectorAll('#names option')].some(option => option.value === 'match-42')"))
        browser.type("Content state", '{"home": 3, "away": 0, "scorer": "Grace"}')
        browser.until("an address of the draft", lambda: "draft=" in browser.url)
        browser.until("the draft to be kept", lambda: "Grace" in browser.text("#check"))
        self.look("draft")

        def state():
            return browser.script("return document.querySelector('#state')?.value ?? ''")
        address = browser.url
        browser.open(self.url + "/names")
        browser.open(address)
        browser.until("the text after leaving", lambda: "Grace" in state())
        browser.press("Publish")
        browser.until("the question", lambda: "Publish to" in browser.text("h1"))
        browser.script("history.back()")
        browser.until("the text after a way back", lambda: "Grace" in state())
        # Another tab signs out.
        browser.script("return fetch('/console/sign-out', {method: 'POST', body: new URLSearchParams("
                       "{csrf: document.querySelector('[name=csrf]').value})}).then(() => 1)")
        browser.type("Content state", '{"home": 3, "away": 0, "scorer": "Hopper"}')
        browser.until("the word that one is signed out", lambda: "You are signed out" in browser.text(".silent"))
        self.expected(browser.errors(), "401")
        browser.follow("Sign in: your text is kept")
        browser.until("the sign-in", lambda: browser.text("h1").strip() == "Lamplighter")
        browser.type("App key", self.options.key)
        browser.type("Master secret", self.options.secret)
        browser.press("Sign in")
        browser.until("the text after the sign-in", lambda: "Hopper" in state())
        browser.until("the draft to be kept", lambda: "Hopper" in browser.text("#check"))
        browser.press("Publish")
        browser.until("the question", lambda: "Publish to" in browser.text("h1"))
        browser.press(browser.text(".primary"))
        browser.until("the way back", lambda: "Take it back" in browser.text("#soon"))
        browser.press("Take it back")
        browser.until("the text after it was taken back", lambda: "Hopper" in state())
        browser.until("the notice", lambda: "Taken back" in browser.text(".notice"))
        self.expected(browser.errors(), "401")
        self.say("keeps a draft over leaving, a way back and a sign-in, and takes a publish back")

    def typo(self):
        browser = self.browser
        browser.open(self.url + "/compose")
        browser.type("Name", "match-42")
        # The name brings another field of the content state.
        browser.until("the part of the name", lambda: "followers" in browser.text("#of-name"))
        browser.type("Content state", '{"home": 1,}')
        browser.press("Publish")
        browser.until("the error", lambda: "Content state:" in browser.text("[role=alert]"))
        self.expected(browser.errors(), "422")
        self.look("typo")
        self.say(f"names a mistake and its place: {browser.text('[role=alert]')}")

    def schedule(self):
        browser = self.browser
        browser.open(self.url + "/compose?name=match-42&event=end")
        browser.type("Name", "match-42")
        browser.type("Content state", '{"home": 2, "away": 0}')
        browser.script("document.querySelector('details:has(#send-at)').open = true;"
                       "const at = document.querySelector('#send-at'); at.value = '2030-01-01T20:45';"
                       "at.dispatchEvent(new Event('input', {bubbles: true}));")
        browser.press("Publish")
        browser.until("the refusal of a time too far ahead", lambda: "366 days" in browser.text())
        self.expected(browser.errors(), "422")
        soon = browser.script(
            "const at = new Date(Date.now() + 3 * 3600e3 - new Date().getTimezoneOffset() * 60e3);"
            "return at.toISOString().slice(0, 16)")
        browser.open(self.url + "/compose?name=match-42&event=end")
        browser.type("Content state", '{"home": 2, "away": 0}')
        browser.script("document.querySelector('details:has(#send-at)').open = true;"
                       "const at = document.querySelector('#send-at'); at.value = arguments[0];"
                       "at.dispatchEvent(new Event('input', {bubbles: true}));", soon)
        browser.press("Publish")
        browser.until("the question", lambda: "Schedule the end" in browser.text("main"))
        self.look("confirm-end")
        browser.press(browser.text(".primary"))
        browser.until("the schedule", lambda: "Scheduled" in browser.text(".notice"))
        browser.errors()
        self.look("schedules")
        browser.press("Cancel")
        browser.until("the question", lambda: "Cancel this schedule?" in browser.text("h1"))
        browser.press("Cancel the schedule")
        browser.until("the notice", lambda: "cancelled" in browser.text(".notice"))
        self.say("schedules an end, and takes it back")

    def sketch(self):
        """A sketch of a type draws its cards, and the form goes to one test device."""
        browser = self.browser
        browser.open(self.url + "/sketches")
        self.look("sketches")
        browser.type("Attributes type", "MatchAttributes")
        drawn = browser.script("return document.querySelector('#sketch').value")
        browser.type("Sketch", '{"card": {"text": 1}}')
        browser.press("Save")
        browser.until("the refusal", lambda: browser.text("[role=alert]"))
        self.look("sketch-refused", expected="422")
        browser.type("Sketch", drawn.replace("{home} : {away}", "{home} to {away}"))
        browser.until("the card that follows the text", lambda: "2 to 1" in browser.text("aside .sketch"))
        browser.type("Sketch", drawn)
        browser.press("Save")
        browser.until("the notice", lambda: "sketch is kept" in browser.text(".notice"))
        self.api("PUT", "/api/test-devices/Anna", {"channel_id": DEVICE.replace("0001", "0002")})
        browser.open(self.url + "/test-devices")
        self.look("test-devices")
        browser.open(self.url + "/compose?name=match-42")
        browser.until("the drawing of the type", lambda: browser.script("return !!document.querySelector('.sketch')"))
        browser.press("Send to Anna")
        browser.until("the word that it was sent", lambda: "Sent to the test device" in browser.text("main"))
        self.look("tested")
        self.api("DELETE", "/api/sketches/MatchAttributes")
        self.say("draws a card as its type says, and sends to a test device")

    def bulk(self):
        """Schedules are chosen on the page and cancelled together."""
        browser = self.browser
        for minute in range(3):
            at = browser.script(f"return new Date(Date.now() + {2 + minute} * 3600e3).toISOString().slice(0, 19)")
            self.api("POST", "/api/schedules", {"schedule": {"scheduled_time": at}, "push": {
                "audience": "all", "device_types": ["ios"], "notification": {"ios": {"live_activity": {
                    "name": "match-42", "event": "update", "content_state": {"home": minute, "away": 0}}}}}})
        browser.open(self.url + "/schedules")
        browser.follow("Choose all on this page")
        browser.until("the count", lambda: "3 chosen" in browser.text(".bulk"))
        self.look("schedules-chosen")
        browser.size(390, 740)
        self.low("a schedule", 90)
        browser.script("document.querySelector('.fold details').open = true")
        browser.until("the fold", lambda: browser.script("return document.querySelector('.fold button').offsetHeight") > 0)
        browser.size(1280, 860)
        browser.press("Cancel the chosen")
        browser.until("the question", lambda: "Cancel 3 schedules?" in browser.text("h1"))
        browser.press("Cancel 3 schedules")
        browser.until("the answer", lambda: "3 schedules cancelled" in browser.text("h1"))
        self.look("bulk-done")
        self.say("cancels the schedules that were chosen")

    def low(self, what, most):
        """An entry of the list on the page takes two or three lines of a phone."""
        heights = self.browser.script("return [...document.querySelectorAll('.rows tbody tr')].map(row => row.offsetHeight)")
        if max(heights) > most:
            raise Failure(f"{what} is {max(heights)} px high on a phone")
