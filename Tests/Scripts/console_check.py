"""The way of a publisher and of an operator through the console, in a real browser. bin/console-check runs it."""

import argparse
import os
import sys

from console_awkward import Awkward
from console_live import Live
from console_match import Match
from webdriver import Browser, Failure

DEVICE = "aaaaaaaa-0000-4000-8000-000000000001"


class Check(Live):
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
        browser.until("the sketch", lambda: "1 : 0" in browser.text(".lock-main"))
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
        browser.until("the push's page", lambda: "/console/pushes/" in browser.url)
        browser.until("the way back", lambda: "Take it back" in browser.text("main"))
        self.look("undo")
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
        browser.until("the way back", lambda: "Take it back" in browser.text("main"))
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
        browser.until("the push to fail", lambda: browser.text(".standing .state") == "failed", 120)
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

    def reader(self):
        """A credential that only reads sees the pages, and no button that it may not press."""
        browser = self.browser
        made = self.api("POST", "/api/credentials", {"id": "newsroom", "scopes": ["read"]})
        self.enter(made["secret"])
        wrong = ["Compose", "Pause the app", "Pause", "Retry", "Cancel", "Cancel the push", "Forget this device", "Update"]
        for name, path in [("home", ""), ("push", self.push.removeprefix(self.url)), ("name", "/names/match-42"),
                           ("device", "/devices"), ("schedules", "/schedules"), ("dead", "/dead")]:
            browser.open(self.url + path)
            self.look("read-only-" + name)
            shown = browser.script("return [...document.querySelectorAll('button, a')].map(one => one.innerText.trim())")
            self.problems += [f"read-only {name}: shows {one}" for one in shown if one in wrong]
        browser.open(self.url + "/compose")
        browser.until("the refusal", lambda: "lacks the scope publish" in browser.text("main"))
        self.look("read-only-refused", expected="403")
        self.say("shows a reader no button that it may not press")

    def approval(self):
        """Two who propose and approve: one asks for the end of a name, the other one looks and lets it go out."""
        browser, name = self.browser, "cup-1"
        self.api("PUT", f"/api/activities/{name}/channels/{DEVICE}", {"token": "aa" * 32})
        people = {who: self.api("POST", "/api/credentials", {"id": who, "scopes": ["read", "propose", "approve"]})["secret"]
                  for who in ("ann", "bob")}
        self.sign_out()
        self.enter(people["ann"])
        browser.open(self.url + f"/compose?name={name}&event=end")
        browser.until("the part of the name", lambda: "follower" in browser.text("#of-name"))
        browser.type("Content state", '{"home": 2, "away": 1}')
        browser.press("Publish")
        browser.until("the question", lambda: "End 1 card?" in browser.text("h1"))
        self.look("approval-question")
        browser.press("Ask for approval")
        browser.until("the push's page", lambda: "It waits for a second person" in browser.text(".notice"))
        push = browser.url.split("?")[0]
        self.look("approval-waits")
        browser.follow("Look at the request")
        browser.until("the words of the question", lambda: "cannot be taken back" in browser.text(".lead"))
        browser.press("Approve and send")
        browser.until("the refusal", lambda: "your own request" in browser.text("main"))
        self.look("approval-own", expected="403")
        self.sign_out()
        self.enter(people["bob"])
        browser.open(self.url)
        browser.until("the strip", lambda: "1 publish waits for a second person" in browser.text("main"))
        # Home replaces its live part while one clicks, so the link of the strip is taken from another page.
        browser.open(self.url + "/names")
        browser.follow("Look and decide")
        browser.until("the list", lambda: "asked by ann" in browser.text(".rows"))
        self.look("approvals")
        browser.script("document.querySelector('.rows tbody a').click()")
        browser.until("the words of the question", lambda: "End 1 card?" in browser.text("h1"))
        if "the credential ann" not in browser.text(".facts"):
            raise Failure("the page does not say who asks")
        self.look("approval")
        browser.press("Approve and send")
        browser.until("the push's page", lambda: browser.url.startswith(push))
        browser.open(push)
        browser.until("the end of the push", lambda: browser.text(".standing .state").startswith("done"))
        told = self.api("GET", "/api/actions?action=approve")["actions"]
        if [(one["credential"], one["asked_by"]) for one in told] != [("bob", "ann")]:
            raise Failure(f"the log of actions has {told}")
        self.say("one person asks for an end, and another one lets it go out, once")
        desk = {"id": "desk", "scopes": ["read", "approve"], "name_prefix": "match-"}
        desk = self.api("POST", "/api/credentials", desk)["secret"]
        activity = {"name": "match-42", "event": "update", "content_state": {"home": 2, "away": 1}}
        push = {"audience": "all", "device_types": ["ios"], "notification": {"ios": {"live_activity": activity}}}
        self.api("POST", "/api/push", push, people["ann"])
        self.sign_out()
        self.enter(desk)
        browser.open(self.url + "/names")
        if browser.text(".side .badge") != "1":
            raise Failure("the navigation does not count the requests of its names")
        browser.follow("Look and decide")
        browser.until("the list", lambda: "once approved" in browser.text(".rows"))
        browser.script("document.querySelector('.rows tbody a').click()")
        browser.until("the request", lambda: "Approve and send" in browser.text("main"))
        browser.type("Reason, if you reject", "The second goal was taken back")
        browser.press("Reject")
        browser.until("the reason", lambda: "desk rejected it" in browser.text("main")
                      and "“The second goal was taken back”" in browser.text("main"))
        self.look("approval-rejected")
        self.say("a credential for some names rejects a request of one, and says why")

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

    def person(self):
        """A credential for names match-* alone: made, used to sign in, to publish and to look back."""
        browser = self.browser
        browser.open(self.url + "/credentials")
        self.look("credentials-none")
        browser.script("document.querySelector('details.make').open = true")
        self.look("credential-new")
        browser.type("Id", "match desk")
        browser.press("Make the credential")
        browser.until("the refusal", lambda: browser.text("[role=alert]"))
        self.look("credential-refused", expected="4")
        browser.type("Id", "match-desk")
        browser.type("Only names that begin with", "match-")
        browser.choose("Ends", "604800")
        browser.script("document.querySelector('[name=scope_publish]').click()")
        browser.press("Make the credential")
        browser.until("the secret", lambda: "The secret of match-desk" in browser.text("h1"))
        secret = browser.text("[data-once]")
        if secret in browser.url or not secret.startswith("match-desk."):
            raise Failure(f"the secret is {secret!r} at {browser.url}")
        self.look("credential-secret")
        browser.follow("I have copied it")
        browser.until("the list", lambda: "match-desk" in browser.text(".rows"))
        self.look("credentials")
        browser.script("history.back()")
        browser.until("a page without the secret", lambda: secret not in browser.text())
        browser.errors()
        browser.open(self.url + "/credentials")
        browser.script("[...document.querySelectorAll('.rows button')].at(-1).click()")
        browser.until("the question", lambda: "Every program that uses it stops at once" in browser.text(".lead"))
        self.look("credential-revoke")
        self.api("POST", "/api/resume", {"name": "match-42"})
        self.sign_out()
        self.enter(secret)
        browser.open(self.url + "/compose?name=match-42")
        browser.type("Name", "match-42")
        browser.type("Content state", '{"home": 4, "away": 2, "scorer": "Lovelace"}')
        browser.until("the sketch", lambda: "4 : 2" in browser.text(".lock-main"))
        browser.press("Publish")
        browser.until("the question", lambda: "Publish" in browser.text("h1") or "Publish" in browser.text(".primary"))
        browser.press(browser.text(".primary"))
        browser.until("the push's page", lambda: "/console/pushes/" in browser.url)
        push = browser.url.split("/")[-1].split("?")[0]
        for name, path in [("home", ""), ("pushes", "/pushes"), ("names", "/names"), ("schedules", "/schedules"),
                           ("dead", "/dead"), ("numbers", "/numbers"), ("alarms", "/alarms")]:
            browser.open(self.url + path)
            self.look("some-names-" + name)
        # It can be taken back for some seconds, and is in the history then.
        browser.until("the push in the history", lambda: browser.open(self.url + "/pushes?name=match-42") or push in
                      browser.script("return document.querySelector('main').innerHTML"))
        browser.open(self.url + "/pushes/" + push)
        browser.until("who published it", lambda: "match-desk" in browser.text("aside"))
        browser.script("document.querySelector('.apps').open = true")
        self.look("some-names-push")
        self.say("makes a credential for match-* alone, signs in with it, publishes, and sees the history")

    def provider(self):
        """A person signs in through a provider, publishes, and stands in the log of actions."""
        browser = self.browser
        console = self.options.second + "/console"

        def account(person):
            browser.open(console + "/compose?name=match-42")
            browser.until("the button", lambda: "Sign in with Example" in browser.text())
            browser.follow("Sign in with Example")
            browser.until("the provider's page", lambda: "/oauth2/authorize" in browser.url)
            browser.press(person)
            browser.until("the way back", lambda: browser.url.startswith(console))
            # The provider's own page has no style sheet here. A refusal is a 403.
            self.problems += [error for error in browser.errors() if console in error and "403" not in error]
        # The reader's session is of the same browser.
        browser.press("Sign out")
        browser.until("the sign-in page", lambda: "/sign-in" in browser.url)
        browser.open(console + "/compose?name=match-42")
        self.look("sign-in-provider")
        account("user-8")
        browser.until("the refusal", lambda: "Nobody gave otto@example.com access to this console" in browser.text())
        if "“interns”" not in browser.text():
            raise Failure("the page does not name the groups")
        self.look("sign-in-nobody")
        account("user-9")
        browser.until("the choice", lambda: "You have access to several apps" in browser.text())
        self.look("sign-in-choice")
        account("user-7")
        browser.until("the page that was asked for", lambda: browser.url.startswith(console + "/compose?"))
        if browser.script("return document.cookie"):
            raise Failure("a script can read a cookie")
        browser.type("Name", "match-43")
        browser.type("Content state", '{"home": 1, "away": 0}')
        browser.press("Publish")
        browser.until("the question", lambda: "Publish to" in browser.text("h1"))
        browser.press(browser.text(".primary"))
        browser.until("the push's page", lambda: "/console/pushes/" in browser.url)
        browser.until("the person", lambda: browser.open(console + "/actions") or "anna@example.com" in browser.text(".rows"))
        self.look("actions-person")
        browser.press("Sign out")
        browser.until("the sign-in page", lambda: "/sign-in" in browser.url)
        self.say("signs a person in through a provider, and names the person in the log of actions")

    def readme(self, path):
        """The picture of the README: the push that `compose` sent, with what became of it."""
        browser = self.browser
        browser.size(1240, 780)
        browser.open(self.push)
        browser.until("the end of the push", lambda: browser.text(".standing .state").startswith("done"))
        browser.picture(path, whole=False)

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
        self.typo()
        self.drafts()
        self.schedule()
        self.numbers()
        self.clocks()
        self.behind_a_proxy()
        self.bulk()
        self.device()
        self.sketch()
        self.unreached()
        self.pages()
        self.without_script()
        if self.options.readme:
            self.readme(self.options.readme)
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


main()
