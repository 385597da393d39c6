"""The way of a publisher and of an operator through the console, in a real browser. bin/console-check runs it."""

import argparse
import os
import sys

from console_awkward import Awkward
from console_match import Match
from console_pages import DEVICE
from console_people import People
from console_publishing import Publishing
from webdriver import Browser, Failure


class Check(Publishing, People):
    def device(self):
        browser = self.browser
        browser.open(self.push)
        self.look("push")
        browser.open(self.url + "/devices")
        browser.type("Channel id", DEVICE)
        browser.press("Find")
        browser.until("the device", lambda: DEVICE in browser.text("h1"))
        browser.type("Name", "match-42")
        browser.press("Explain")
        browser.until("the explanation", lambda: "would get the next update" in browser.text(".explained")
                      or "would not get" in browser.text(".explained"))
        self.look("device")
        self.say(f"finds a device, and explains: {browser.text('.explained p')}")
        browser.press("Forget this device")
        browser.until("the question", lambda: "Forget this device?" in browser.text("h1"))
        self.look("forget")
        browser.press("Forget")
        browser.until("the notice", lambda: "being forgotten" in browser.text(".notice"))

        def is_gone():
            browser.open(f"{self.url}/devices/{DEVICE}")
            return "not known" in browser.text("main") or "follows no name" in browser.text("main")
        browser.until("the device to be forgotten", is_gone)
        self.expected(browser.errors(), "404")
        self.say("forgets it")

    def pages(self):
        browser = self.browser
        for name, path in [
            ("home", ""), ("pushes", "/pushes"), ("names", "/names"), ("name", "/names/match-42"),
            ("devices", "/devices"), ("devices-tag", "/devices?tag=gold"), ("followers", "/names/match-42/followers"),
            ("actions-some", "/actions?action=publish"), ("schedules-finished", "/schedules?state=finished"),
            ("broadcasts", "/broadcasts"), ("dead", "/dead"), ("quarantine", "/quarantine"),
            ("actions", "/actions"), ("templates", "/templates"), ("alarms", "/alarms"), ("numbers", "/numbers"),
            ("numbers-hour", "/numbers?by=hour&name=match-42"),
        ]:
            browser.open(self.url + path)
            self.look(name)
        browser.size(390, 740)
        for what, path in [("an action", "/actions"), ("a push", "/pushes"), ("a name", "/names")]:
            browser.open(self.url + path)
            self.low(what, 110)
        browser.size(1280, 860)
        browser.open(self.url)
        browser.until("the live part", lambda: browser.script(
            "return performance.getEntriesByType('resource').some(entry => entry.name.endsWith('/live'))")
            or not browser.script("return document.querySelector('.stale')"))
        self.publish("match-42", {"home": 1, "away": 1, "minute": 61})
        browser.until("the push on the page that is open", lambda: browser.script(
            "return document.querySelectorAll('.rows .state').length") >= 2)
        self.say("shows a new push on the open page")
        field = "Go to a name, a push, a device or a user"
        for leads, text, place in [("ctrl", "match-42", "/names/match-42"), ("slash", self.push.split("/")[-1], self.push)]:
            browser.open(self.url + "/alarms")
            browser.script("document.body.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, ...arguments[0]}))",
                           {"key": "k", "ctrlKey": True} if leads == "ctrl" else {"key": "/"})
            if browser.script("return document.activeElement.name") != "go":
                raise Failure(f"{leads} does not lead to the field in the head")
            browser.type(field, text)
            browser.script("document.querySelector('form.go').requestSubmit()")
            browser.until("the page of what was typed", lambda place=place: browser.url.endswith(place))
        self.say("goes to a name and to a push from the field in the head")
        for name, path in [("names-last", "/names?sort=last"), ("names-followers", "/names?sort=followers")]:
            browser.open(self.url + path)
            self.look(name)
        browser.open(self.url + "/names/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
        browser.until("an error page", lambda: "no followers" in browser.text())
        self.expected(browser.errors(), "404")

    def without_script(self):
        """The pages show their data, and a push can be published, without a script."""
        browser = self.browser
        browser.chromium("Emulation.setScriptExecutionDisabled", value=True)
        try:
            browser.open(self.url + "/names")
            if "match-42" not in browser.call("GET", "/source"):
                raise Failure("without a script the names are missing")
        finally:
            browser.chromium("Emulation.setScriptExecutionDisabled", value=False)
        self.say("shows its data without a script")

    def unreached(self):
        """From the page of a push to the reason why one device did not get it."""
        browser = self.browser
        browser.open(self.push)
        first = browser.script("return document.querySelector('td.id a').innerText")
        browser.type("Look up one device", first)
        browser.press("Why?")
        browser.until("the reason", lambda: "would not get" in browser.text(".explained"))
        self.look("device-pruned")
        self.say(f"says why a device did not get it: {browser.text('.explained li')}")

    def trouble(self):
        """The pages of an operator at night: a broadcast channel, a dead letter, tokens in quarantine, an alarm, a pause."""
        browser = self.browser
        self.api("PUT", "/api/activities/match-42/broadcast?wait=20")
        for name, path in [("broadcasts-some", "/broadcasts"), ("name-broadcast", "/names/match-42")]:
            browser.open(self.url + path)
            self.look(name)
        self.faults(reject_all="PayloadTooLarge")
        push = self.publish("match-42", {"home": 1, "away": 2, "minute": 70})["push_ids"][0]
        browser.open(f"{self.url}/pushes/{push}")
        browser.until("the push to fail", lambda: browser.text(".standing .state") .startswith("failed"), 120)
        browser.open(f"{self.url}/pushes/{push}")
        self.look("push-failed")
        browser.open(self.url + "/dead")
        self.look("dead-some")
        browser.follow("Compose the present state")
        browser.until("the form", lambda: browser.script("return document.querySelector('#name')?.value") == "match-42")
        if "This goes to all that the push was for" not in browser.text("main"):
            raise Failure("Compose does not say that it cannot name thousands of devices")
        self.look("dead-compose")
        browser.open(self.url + "/dead")
        browser.press("Drop")
        browser.until("the question", lambda: "Drop the dead letter?" in browser.text("h1"))
        self.look("drop")
        self.faults(reject_all="BadDeviceToken")
        push = self.publish("match-42", {"home": 1, "away": 2, "minute": 71})["push_ids"][0]
        browser.open(f"{self.url}/pushes/{push}")
        browser.until("the push to end", lambda: browser.text(".standing .state").startswith(("failed", "done")), 120)
        browser.open(self.url + "/quarantine")
        browser.until("tokens in quarantine", lambda: browser.open(self.url + "/quarantine") or "Discard" in browser.text("main"))
        self.look("quarantine-some")
        browser.open(self.url + "/names/match-42")
        browser.press("Pause")
        browser.until("the question", lambda: "Pause this name?" in browser.text("h1"))
        self.look("pause")
        browser.press("Pause")
        browser.until("the notice", lambda: "Paused." in browser.text(".notice"))
        self.publish("match-42", {"home": 1, "away": 2, "minute": 72})
        browser.open(self.url)
        self.look("home-trouble")
        browser.script("document.querySelector('.menu').open = true")
        self.look("menu")
        browser.open(self.url + "/alarms")
        browser.press("Mark as known")
        browser.until("the known alarm", lambda: "Show it everywhere again" in browser.text("main"))
        self.look("alarms-known")
        browser.press("Show it everywhere again")
        browser.until("the alarm as before", lambda: "Show it everywhere again" not in browser.text("main"))
        self.faults()
        self.say("shows what went wrong: a dead letter, a quarantine, an alarm, a pause")

    def app(self):
        """The pages about the app itself."""
        browser = self.browser
        for name, path in [("schemas", "/schemas"), ("schema", "/schemas/MatchAttributes"), ("events", "/events"),
                           ("settings", "/settings"), ("settings-set", "/settings?show=set")]:
            browser.open(self.url + path)
            self.look(name)
            if self.options.secret in browser.script("return document.documentElement.outerHTML"):
                raise Failure(f"{path} shows the master secret")
        browser.open(self.url + "/schemas/MatchAttributes")
        browser.script("for (const part of document.querySelectorAll('main details')) part.open = true")
        browser.type("Document", '{"content_state": {"type": "integr"}}')
        browser.press("Save the schema")
        browser.until("the place of the mistake", lambda: "Line 1, column" in browser.text("[role=alert]"))
        self.expected(browser.errors(), "422")
        self.look("schema-refused")
        self.say(f"names a mistake of a schema: {browser.text('[role=alert]')}")

    def readme(self, path):
        """The picture of the README: the room of the name for which `compose` published, with the next goal."""
        browser = self.browser
        browser.size(1240, 860)
        browser.open(self.url + "/names/match-42")
        browser.type("Goals home", "2")
        browser.type("Minute", "31")
        browser.type("Alert title", "Goal for the home team")
        browser.until("the next card", lambda: "2 : 0" in browser.text("#check .lock-main"))
        browser.script("document.activeElement.blur(); scrollTo(0, 0)")
        browser.picture(path, whole=False)
        browser.size(1280, 860)

    def run(self):
        self.api("PUT", "/api/schemas/MatchAttributes", {
            "names": ["match-*"], "content_state": {"type": "object", "properties": {
                "home": {"type": "integer", "minimum": 0, "title": "Goals home"},
                "away": {"type": "integer", "minimum": 0, "title": "Goals away"},
                "minute": {"type": "integer", "minimum": 0, "maximum": 130, "title": "Minute"},
                "phase": {"enum": ["first half", "break", "second half", "over"], "title": "Phase"},
                "scorer": {"type": "string", "title": "Scorer"}}}})
        self.sign_in()
        self.compose()
        if self.options.readme:
            self.readme(self.options.readme)
        self.typo()
        self.drafts()
        self.schedule()
        self.numbers()
        self.clocks()
        self.behind_a_proxy()
        self.two()
        self.bulk()
        self.device()
        self.sketch()
        self.unreached()
        self.pages()
        self.without_script()
        self.trouble()
        self.app()
        self.person()
        self.sign_out()
        self.reader()
        self.approval()
        self.provider()


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "key", "secret", "control", "second"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--followers", type=int, required=True)
    parser.add_argument("--axe", default="", help="axe.min.js; empty: without it")
    parser.add_argument("--only", choices=["check", "match", "awkward"])
    parser.add_argument("--pictures")
    parser.add_argument("--readme")
    options = parser.parse_args()
    if options.pictures:
        os.makedirs(options.pictures, exist_ok=True)
    with Browser() as browser:
        problems = []
        for part in [Check, Match, Awkward]:
            if options.only not in (None, part.__name__.lower()):
                continue
            browser.size(1280, 860)
            check = part(browser, options)
            try:
                check.run()
            except Failure as failure:
                check.problems.append(str(failure))
                if options.pictures:
                    browser.picture(os.path.join(options.pictures, "failure.png"))
                browser.restart()
            problems += check.problems
            for problem in check.problems:
                print(f"  ✗ {problem}", flush=True)
        print(f"bin/console-check: {'✗ failed' if problems else '✓ passed'}")
        sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
