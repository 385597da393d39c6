"""Who may do what: a reader, two who propose and approve, a credential for some names, a person of a provider."""

from console_live import Live
from console_pages import DEVICE
from webdriver import Browser, Failure


class People(Live):
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

    def two(self):
        """Two people in two browsers, one of them on a phone, publish for one name at once: no old score goes out unsaid."""
        name, browser = "match-44", self.browser
        self.api("POST", f"/api/activities/{name}/channels", "".join(
            f'{{"channel":"{i:08x}-0000-4000-8000-000000000044","token":"{i:062x}44"}}\n' for i in range(1, 21)))
        self.publish(name, {"home": 1, "away": 0, "minute": 20})
        room = f"{self.url}/names/{name}"
        with Browser() as phone:
            phone.size(390, 740)
            phone.open(self.url + "/sign-in")
            phone.type("App key", self.options.key)
            phone.type("Master secret", self.options.secret)
            phone.press("Sign in")
            phone.until("Home", lambda: phone.text("h1") == "Home")
            for one in (browser, phone):
                one.open(room)
                one.until("the form", lambda one=one: "Goals home" in one.text("#of-name"))
            browser.type("Goals home", "2")
            browser.until("the mark of the change", lambda: "was 1" in browser.text("#of-name"))
            browser.type("Minute", "22")
            # The other one is faster, and sends the same fields.
            phone.type("Goals home", "5")
            phone.type("Minute", "21")
            phone.press("Publish")
            phone.until("the question", lambda: "1 : 0 → 5 : 0" in phone.text("main"))
            phone.press(phone.text("form .primary"))
            phone.until("the seconds", lambda: "Send now" in phone.text("#soon"))
            if self.options.pictures:
                phone.picture(f"{self.options.pictures}/two-phone.png")
            browser.until("the push that waits", lambda: "goes to 20 phones" in browser.text("#soon"), 20)
            phone.press("Send now")
            browser.until("both values", lambda: "published" in browser.text("#moved") and "5" in browser.text("#moved"), 30)
            browser.until("both members", lambda: "22" in browser.text("#moved") and "Take 21" in browser.text("#moved"))
            self.look("two-moved")
            browser.press("Take 21")
            browser.until("the member that is left", lambda: "Goals home" in browser.text("#moved")
                          and "Minute" not in browser.text("#moved"))
            browser.press("Send mine")
            browser.until("the question", lambda: "Send mine: 5 : 0 → 2 : 0 to 20 phones" in browser.text("main"))
            self.look("two-question")
            browser.press("Send mine: 5 : 0 → 2 : 0 to 20 phones")
            phone.until("the card as it is now", lambda: "2 : 0" in phone.text("#now"), 30)
            self.problems += phone.errors()
        states = [push["state"] for push in self.api("GET", f"/api/pushes?name={name}")["pushes"]]
        if len(states) != 3:
            raise Failure(f"three pushes were sent, and the name has {states}")
        self.say("two people publish for one name at once, and each is told what the other one sent")

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
        browser.until("the proposal's page", lambda: "It waits for a second person" in browser.text(".notice"))
        proposal = browser.url.split("?")[0]
        self.look("approval-waits")
        browser.until("the words of the question", lambda: "cannot be taken back" in browser.text(".lead"))
        browser.press("Approve and send")
        browser.until("the refusal", lambda: "your own proposal" in browser.text("main"))
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
        browser.until("the proposal's page", lambda: browser.url.startswith(proposal) and "published" in browser.text(".facts"))
        browser.follow("its push")
        browser.until("the end of the push", lambda: browser.text(".standing .state").startswith("done"))
        told = self.api("GET", "/api/actions?action=approve")["actions"]
        if [(one["credential"], one["entry"]) for one in told] != [("bob", proposal.split("/")[-1])]:
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
            raise Failure("the navigation does not count the proposals of its names")
        browser.follow("Look and decide")
        browser.until("the list", lambda: "once approved" in browser.text(".rows"))
        browser.script("document.querySelector('.rows tbody a').click()")
        browser.until("the proposal", lambda: "Approve and send" in browser.text("main"))
        browser.type("Reason, if you reject", "The second goal was taken back")
        browser.press("Reject")
        browser.until("the reason", lambda: "rejected by the credential desk" in browser.text("main")
                      and "“The second goal was taken back”" in browser.text("main"))
        self.look("approval-rejected")
        self.say("a credential for some names rejects a proposal of one, and says why")
        self.api("POST", "/api/push", push, people["ann"])
        browser.open(self.url + "/proposals")
        browser.script("document.querySelector('.rows tbody a').click()")
        browser.until("before and after", lambda: "On the cards now" in browser.text("aside")
                      and "Proposed" in browser.text("aside"))
        self.look("approval-versus")
        browser.open(self.url + "/names/match-42")
        browser.until("the request in the room", lambda: "waits for a second person" in browser.text("#timeline"))
        self.look("approval-room")
        browser.press("Approve")
        browser.until("the notice in the room", lambda: "Approved." in browser.text(".notice") and "/names/" in browser.url)
        self.sign_out()
        self.enter(people["ann"])
        browser.open(self.url + "/names")
        browser.until("the answers", lambda: "3 of your requests have an answer" in browser.text(".strip"))
        browser.follow("Read it")
        browser.until("the reason", lambda: "The second goal was taken back" in browser.text(".rows"))
        self.look("inbox-mine")
        browser.open(self.url + "/names")
        if "of your requests" in browser.text("main"):
            raise Failure("what was read is told again")
        self.say("a person approves in the room, and the person who asked reads each answer once")

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
        browser.until("the sketch", lambda: "4 : 2" in browser.text("#check .lock-main"))
        browser.press("Publish")
        browser.until("the question", lambda: "Publish" in browser.text("h1") or "Publish" in browser.text(".primary"))
        browser.press(browser.text(".primary"))
        browser.until("the room", lambda: "sent=" in browser.url)
        push = browser.url.split("sent=")[-1]
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
        browser.until("the page that was asked for", lambda: browser.url.startswith(console + "/names/match-42"))
        if browser.script("return document.cookie"):
            raise Failure("a script can read a cookie")
        browser.type("Name", "match-43")
        browser.type("Content state", '{"home": 1, "away": 0}')
        browser.press("Publish")
        browser.until("the question", lambda: "Publish to" in browser.text("h1"))
        browser.press(browser.text(".primary"))
        browser.until("the room", lambda: "/console/names/match-43" in browser.url)
        browser.until("the person", lambda: browser.open(console + "/actions") or "anna@example.com" in browser.text(".rows"))
        self.look("actions-person")
        browser.press("Sign out")
        browser.until("the sign-in page", lambda: "/sign-in" in browser.url)
        self.say("signs a person in through a provider, and names the person in the log of actions")
