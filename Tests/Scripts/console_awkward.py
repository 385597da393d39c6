"""Every page of the console with awkward data: names of 255 bytes, emoji, right-to-left text, long ids, thousands of pushes, an
alarm, a pause, no worker, and nothing at all."""

import datetime
import json
import urllib.request

from console_pages import Pages

LONG = ("match-final-of-the-regional-under-seventeen-cup-" * 6)[:255]
WIDE = "W" * 255
EMOJI = "⚽️🏆-👨‍👩‍👧‍👦-🇩🇪-finale"
ARABIC = "مباراة الهلال والنصر ٤٢"
MARKUP = "<b>\"quoted\" & 'ticked'</b>"
NAMES = [LONG, WIDE, EMOJI, ARABIC, MARKUP]
TYPE = "TheAttributesOfAVeryLongLivedActivityOfARegionalCup" * 2
SENTENCE = "The referee adds eleven minutes because of a long interruption in the first half of the extra time. "
STATE = {"home": 1234567, "away": -1, "minute": 129, "scorer": "Wolfeschlegelsteinhausenbergerdorff" * 4, "note": SENTENCE * 3,
         "نتيجة": "هدف في الدقيقة الأخيرة", "emoji": "⚽️" * 30, "nested": {"a": {"b": [1, 2, 3]}}}


class Awkward(Pages):
    """Two more apps of the second gateway: one has awkward data, the other has none, and no worker."""

    def __init__(self, browser, options):
        super().__init__(browser, options, options.second, "awkward", "awkward-" + options.secret)

    def run(self):
        self.fill()
        self.moves()
        self.visit_all()
        self.nothing()

    def follow(self, name, count, start):
        lines = "".join(json.dumps({"channel": f"{number:08x}-0000-4000-8000-{number:012x}", "token": f"{number:064x}"}) + "\n"
                        for number in range(start, start + count))
        self.api("POST", f"/api/activities/{self.quoted(name)}/channels", lines)

    def push(self, name, event="update", **more):
        activity = {"name": name, "event": event, "content_state": STATE, **more}
        return {"audience": "all", "device_types": ["ios"], "notification": {"ios": {"live_activity": activity}}}

    def fill(self):
        for number, name in enumerate(NAMES):
            self.follow(name, 300 if name == LONG else 3, 1 + number * 1000)
        device = "00000001-0000-4000-8000-000000000001"
        self.device = device
        self.api("PUT", f"/api/channels/{device}", {"channel": {
            "device_type": "ios", "opt_in": True, "set_tags": True, "named_user_id": "user-" + "u" * 100,
            "tags": ["gold", "t" * 120, "⚽️🏆", "ذهب"] + [f"tag-number-{number}" for number in range(30)]}})
        self.api("PUT", f"/api/schemas/{TYPE}", {
            "names": [LONG[:40] + "*", WIDE, EMOJI], "content_state": {"type": "object", "required": ["home"], "properties": {
                "home": {"type": "integer", "title": "Goals of the home team, without those of a penalty shoot-out"},
                "away": {"type": "integer"}, "minute": {"type": "integer", "minimum": 0, "maximum": 130, "title": "Minute"},
                "phase": {"enum": ["first half", SENTENCE.strip()], "title": "Phase"},
                "scorer": {"type": "string", "title": "Wolfeschlegelsteinhausenbergerdorff" * 2},
                "note": {"type": "string", "description": SENTENCE * 2},
                "live": {"type": "boolean", "title": "مباشر"}, "nested": {"type": "object", "properties": {
                    "a": {"type": "object", "properties": {"b": {"type": "array"}}}}}}}})
        self.api("PUT", f"/api/sketches/{TYPE}", {"background": "indigo", "card": {"rows": [
            {"columns": [{"symbol": "soccerball"}, {"text": "{home} : {away}", "size": "large"}, {"text": "{scorer}"}]},
            {"text": "{note}"}, {"progress": "{minute}", "of": 90}]}, "leading": {"text": "{scorer}"}, "trailing": {"text": "{note}"}})
        for name in ["Anna", "The telephone of the editor in charge of the regional sports", "هاتف"]:
            self.api("PUT", f"/api/test-devices/{self.quoted(name)}", {"channel_id": device})
        for name in NAMES:
            self.api("PUT", f"/api/activities/{self.quoted(name)}", {"attributes_type": TYPE})
            self.api("POST", "/api/push", self.push(name, alert={"title": SENTENCE.strip(), "body": SENTENCE * 2}))
        start = self.push(
            WIDE, "start", attributes_type=TYPE, attributes={"league": "Cup" * 40}, alert={"title": "Start", "body": SENTENCE})
        self.start = self.api("POST", "/api/push", start)["push_ids"][0]
        for _ in range(20):
            self.api("POST", "/api/push", [self.push(f"nobody-{number % 7}") for number in range(100)])
        day = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
        for number in range(60):
            at = (day + datetime.timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%S")
            self.api("POST", "/api/schedules", {
                "name": SENTENCE.strip() if number == 1 else "a label", "schedule": {"scheduled_time": at},
                "push": self.push(NAMES[number % 5], "end" if number % 9 == 0 else "update")})
        self.api("POST", "/api/credentials", {"id": "W" * 64, "scopes": ["publish", "read", "track", "operate"], "name_prefix": LONG[:200]})
        self.api("POST", "/api/credentials", {"id": "desk-of-the-night-editors", "scopes": ["read"], "expires_in": 3600})
        self.api("PUT", f"/api/activities/{self.quoted(LONG)}/broadcast?wait=20")
        self.trouble()
        for name in (EMOJI, ARABIC):
            self.api("POST", "/api/pause", {"name": name})
        self.api("POST", "/api/pause")
        self.say("fills an app with awkward data")

    def trouble(self):
        """A dead letter, a quarantine and an alarm."""
        for reason in ("PayloadTooLarge", "BadDeviceToken"):
            self.faults(reject_all=reason)
            push = self.api("POST", "/api/push", self.push(LONG))["push_ids"][0]
            self.browser.until("the push to end", lambda: self.api("GET", f"/api/push/{push}")["state"] in ("failed", "done"))
            if reason == "PayloadTooLarge":
                self.failed = push
        self.faults()

    def visit_all(self):
        browser = self.browser
        self.enter(self.secret, self.key)
        self.look("awkward-home")
        name = self.quoted(LONG)
        schedule = self.api("GET", "/api/schedules?limit=1")["schedules"][0]["push_ids"][0]
        for title, path in [
            ("pushes", "/pushes"), ("pushes-filtered", f"/pushes?name={name}&event=update"), ("push-failed", f"/pushes/{self.failed}"),
            ("push-start", f"/pushes/{self.start}"), ("push-scheduled", f"/pushes/{schedule}"), ("names", "/names"), ("name", f"/names/{name}"),
            ("name-wide", f"/names/{WIDE}"), ("name-emoji", f"/names/{self.quoted(EMOJI)}"), ("name-arabic", f"/names/{self.quoted(ARABIC)}"),
            ("name-markup", f"/names/{self.quoted(MARKUP)}"), ("followers", f"/names/{name}/followers"), ("devices", "/devices"),
            ("device", f"/devices/{self.device}?name={name}"), ("schedules", "/schedules"), ("schedules-chosen", "/schedules?choose=all"),
            ("broadcasts", "/broadcasts"), ("dead", "/dead"), ("quarantine", "/quarantine"), ("alarms", "/alarms"), ("actions", "/actions"),
            ("numbers", "/numbers"), ("numbers-hour", f"/numbers?by=hour&name={name}"), ("test-devices", "/test-devices"),
            ("sketches", f"/sketches?type={TYPE}"), ("credentials", "/credentials"), ("schemas", "/schemas"), ("schema", f"/schemas/{TYPE}"),
            ("events", "/events"), ("settings", "/settings"), ("compose", "/compose"), ("compose-name", f"/compose?name={name}"),
            ("compose-arabic", f"/compose?name={self.quoted(ARABIC)}"), ("compose-copy", f"/compose?push={self.start}"),
            ("compose-schedule", f"/compose?schedule={schedule}"), ("another-app", "/sign-in?another=yes"),
        ]:
            browser.open(self.url + path)
            if title.startswith("compose"):
                browser.script("for (const part of document.querySelectorAll('main details:not(.pick)')) part.open = true")
            self.look("awkward-" + title)
        browser.open(self.url + "/names/" + "x" * 300)
        self.look("awkward-not-found", expected="40")
        browser.open(self.url + "/credentials")
        browser.script("document.querySelector('details.make').open = true")
        self.look("awkward-credential-new")
        self.forms(name)
        # The webhook does not answer, and its events are given up after a minute.
        browser.until("an event that was given up", lambda: browser.open(self.url + "/events") or "Retry all" in browser.text("main"))
        self.look("awkward-events-some")
        self.say("shows awkward data on every page, at four widths, light and dark")

    def forms(self, name):
        """The questions, and the forms that are filled in."""
        browser = self.browser
        browser.open(f"{self.url}/compose?name={name}")
        browser.type("Alert title", SENTENCE.strip())
        browser.type("Alert body", SENTENCE * 2)
        browser.script("for (const part of document.querySelectorAll('main details:not(.pick)')) part.open = true")
        browser.type("Title", "The goal that decides a match in the last minute of its extra time, with an alert and sound")
        browser.until("the sketch", lambda: "The referee" in browser.text(".banner"))
        self.look("awkward-compose-filled")
        browser.press("Save")
        browser.until("the templates", lambda: "The template is saved" in browser.text(".notice"))
        self.look("awkward-templates")
        browser.open(f"{self.url}/compose?name={name}&event=end")
        browser.type("Content state", '{"home": ')
        browser.press("Preview")
        browser.until("the refusal", lambda: "JSON" in browser.text("[role=alert], #check"))
        self.look("awkward-compose-refused", expected="422")
        browser.script("for (const part of document.querySelectorAll('.pick')) part.open = true")
        self.look("awkward-menus")
        browser.type("Content state", '{"home": 1, "away": 2}')
        browser.press("Publish")
        browser.until("the question", lambda: browser.text(".lead"))
        self.look("awkward-confirm-end")
        for title, path, button in [("pause", f"/names/{name}", "Pause"), ("revoke", "/credentials", "Revoke"),
                                    ("rotate", "/credentials", "New secret"), ("drop", "/dead", "Drop"),
                                    ("discard", "/quarantine", "Discard"), ("forget", f"/devices/{self.device}", "Forget this device"),
                                    ("cancel", "/schedules", "Cancel"), ("schema-delete", f"/schemas/{TYPE}", "Delete the schema")]:
            browser.open(self.url + path)
            browser.press(button)
            browser.until("the question", lambda: browser.script("return document.querySelector('.card-box h1') !== null"))
            # The browser gives it after the first frame.
            browser.until("the focus on the question",
                          lambda: browser.script("return document.activeElement.tagName") in ("H1", "BUTTON"))
            self.look("awkward-" + title)

    def moves(self):
        """Nothing moves for those who do not want it."""
        browser = self.browser
        moving = ("const part = document.createElement('span'); part.className = 'state sending'; document.body.append(part);"
                  "const count = document.getAnimations().length; part.remove(); return count")
        for wanted, count in (("reduce", 0), ("no-preference", 1)):
            browser.open(self.url + "/sign-in")
            browser.chromium("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": wanted}])
            if browser.script(moving) != count:
                self.problems.append(f"prefers-reduced-motion: {wanted}: {browser.script(moving)} parts move")

    def nothing(self):
        """An app without anything, and without a worker."""
        browser = self.browser
        self.sign_out()
        self.enter("zero-" + self.options.secret, "zero")
        for path in ["", "/pushes", "/names", "/devices", "/schedules", "/schedules?state=finished", "/broadcasts", "/dead", "/quarantine",
                     "/alarms", "/actions", "/numbers", "/templates", "/test-devices", "/sketches", "/credentials", "/schemas",
                     "/events", "/compose", "/compose?name=nobody&event=start"]:
            browser.open(self.url + path)
            if "No worker has been seen" not in browser.text("main"):
                self.problems.append(f"zero{path}: does not say that no worker runs")
            self.look("zero" + (path.replace("/", "-").replace("?", "-").replace("&", "-") or "-home"))
        self.sign_out()
        self.say("shows an app without anything")
