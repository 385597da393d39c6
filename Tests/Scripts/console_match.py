"""A match, from its plan to its numbers, with the console alone; and several apps in one browser."""

import datetime

from console_pages import Pages

TYPE = "MatchAttributes"
SCHEMA = {"names": ["match-*"], "content_state": {"type": "object", "properties": {
    "home": {"type": "integer", "minimum": 0, "title": "Goals home"}, "away": {"type": "integer", "minimum": 0, "title": "Goals away"},
    "minute": {"type": "integer", "minimum": 0, "maximum": 130, "title": "Minute"}, "scorer": {"type": "string", "title": "Scorer"}}}}
# Runs in the page: fills in the time tomorrow at this hour and minute, by the browser's clock.
SEND_AT = ("const day = new Date(Date.now() + 86400e3), at = document.querySelector('#send-at');"
           "at.value = `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, '0')}-${String(day.getDate()).padStart(2, '0')}T${arguments[0]}`;"
           "at.dispatchEvent(new Event('input', {bubbles: true}));")


class Match(Pages):
    """bin/console-check publishes to match-41 yesterday, and to match-30 last week."""

    def run(self):
        self.api("PUT", f"/api/schemas/{TYPE}", SCHEMA)
        for number, name in enumerate(("match-51", "match-52")):
            lines = "".join(f'{{"channel":"{i:08x}-0000-4000-8000-00000000000{number}","token":"{i:062x}{number:02x}"}}\n' for i in range(1, 301))
            self.api("POST", f"/api/activities/{name}/channels", lines)
        self.api("POST", f"/api/start-tokens/{TYPE}/channels", "".join(
            f'{{"channel":"{i:08x}-0000-4000-8000-00000000000a","token":"{i:064x}"}}\n' for i in range(5000, 5020)))
        self.enter(self.secret)
        self.match("match-51")
        secret = self.credential()
        self.sign_out()
        self.enter(secret)
        self.match("match-52")
        self.sign_out()
        self.apps()

    def match(self, name):
        self.plan(name)
        self.goals(name)
        self.yesterday()
        self.week()
        self.end(name)

    def follow_page(self, title):
        """A click in the navigation."""
        browser = self.browser
        browser.again(lambda: browser.click(browser.script("return [...document.querySelectorAll('.side a')].find(a => a.innerText.split('\\n')[0].trim()"
                                     ".startsWith(arguments[0]))", title)["element-6066-11e4-a52e-4f735466cecf"]))
        browser.until(f"the page {title}", lambda: browser.text("h1") == title)

    def plan(self, name):
        """A start for tomorrow, which is then another one."""
        browser = self.browser
        self.follow_page("Compose")
        browser.type("Name", name)
        browser.until("the fields of the name", lambda: "Goals home" in browser.text("#of-name"))
        browser.choose("Event", "start")
        browser.until("the fields of a start", lambda: browser.script("return !document.querySelector('[data-if=\"event=start\"]').hidden"))
        browser.type("Attributes type", "")
        browser.until("a look without a type", lambda: browser.script("return document.querySelector('#of-name [name=of]').value").startswith("start  "))
        if browser.script("return document.querySelector('[name=attributes_type]').value"):
            self.problems.append("the type is filled in again while somebody writes another one")
        browser.type("Attributes type", TYPE)
        browser.type("Attributes", '{"league": "Cup"}')
        browser.until("the fields of the type", lambda: "Goals home" in browser.text("#of-name"))
        browser.type("Goals home", "0")
        browser.type("Goals away", "0")
        browser.type("Alert title", "Kick-off")
        browser.type("Alert body", "The match begins")
        browser.click_on("details:has(#send-at) summary")
        browser.script(SEND_AT, "20:00")
        browser.press("Publish")
        browser.until("the question", lambda: "Schedule" in browser.text("h1") and "20:00" in browser.text("main") or "8:00" in browser.text(".lead"))
        self.look(f"{name}-plan")
        browser.press(browser.text(".primary"))
        browser.until("the schedules", lambda: "Scheduled" in browser.text(".notice"))
        browser.click(browser.script(
            "return [...document.querySelectorAll('.rows tbody tr')].find(row => row.innerText.includes(arguments[0])).querySelector('td a')",
            name)["element-6066-11e4-a52e-4f735466cecf"])
        browser.until("its page", lambda: "/console/pushes/" in browser.url and "Kick-off" in browser.text("main"))
        browser.follow("Change")
        browser.until("the form", lambda: "Change the schedule" in browser.text("h1"))
        browser.type("Alert body", "The match begins a quarter of an hour later")
        browser.script(SEND_AT, "20:15")
        browser.press("Change")
        browser.until("the question", lambda: "quarter" in browser.text("main") and "draft" in browser.url and "/publish" in browser.url)
        browser.press(browser.text(".primary"))
        browser.until("the notice", lambda: "The schedule is changed" in browser.text(".notice"))
        if "quarter" not in browser.text("main"):
            self.problems.append("the schedule shows the alert from before the change")
        self.look(f"{name}-planned")
        self.say(f"plans the start of {name} for tomorrow, and changes it")

    def goals(self, name):
        """Three goals; the last one is corrected while it waits."""
        browser = self.browser
        for goal, scorer in enumerate(["Ada", "Grace", "Lovelac"], 1):
            self.open_name(name)
            browser.until("the form", lambda: "Goals home" in browser.text("#of-name"))
            if goal == 3:
                # Then one push alone can be taken back.
                browser.until("the goals before to go out", lambda: "Take it back" not in browser.text("#soon"), 60)
            self.goal(goal, scorer)
        browser.press("Take it back")
        browser.until("the form again", lambda: "Taken back" in browser.text(".notice"))
        self.goal(3, "Lovelace")
        # The goals before are done already.
        browser.until("the push to be done", lambda: "3 : 0" in browser.text("#timeline")
                      and browser.text("#timeline .state").startswith("done"), 60)
        self.follow_page("Pushes")
        if "Lovelace" not in str(self.last_states(name)) or "Lovelac'" in str(self.last_states(name)):
            self.problems.append(f"the pushes of {name} are {self.last_states(name)}")
        self.say(f"publishes three goals of {name}, and corrects one within its ten seconds")

    def goal(self, goals, scorer):
        browser = self.browser
        browser.type("Goals home", str(goals))
        browser.type("Scorer", scorer)
        browser.type("Alert title", f"{goals} : 0 by {scorer}")
        browser.type("Alert body", "Goal")
        browser.press("Publish")
        browser.until("the question", lambda: "lock screens will light" in browser.text(".lead"))
        browser.press(browser.text(".primary"))
        browser.until("the way back", lambda: "Take it back" in browser.text("main"))

    def last_states(self, name):
        pushes = self.api("GET", f"/api/pushes?name={name}&event=update")["pushes"]
        return [self.api("GET", f"/api/push/{push['push_id']}/content")["payload"]["aps"]["content-state"] for push in pushes]

    def open_name(self, name):
        browser = self.browser
        self.follow_page("Names")
        browser.type("Search", name)
        browser.press("Search")
        browser.until("the name", lambda: name in browser.text(".rows"))
        browser.follow(name)
        browser.until("its page", lambda: browser.text("h1") == name)

    def yesterday(self):
        """From yesterday's push to the reason why one device missed it."""
        browser = self.browser
        day = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)).strftime("%Y-%m-%d")
        self.follow_page("Pushes")
        for label in ("From", "To"):
            browser.choose(label, day)
        browser.press("Show")
        browser.until("yesterday's push", lambda: browser.text(".rows .name").strip() == "match-41")
        browser.click_on(".rows tbody td a")
        browser.until("its page", lambda: "Devices that it did not reach" in browser.text("main"))
        browser.until("the reason in words", lambda: "the card is gone" in browser.text(".unreached"))
        reason = browser.text(".unreached tbody tr")
        self.look("yesterday-" + ("all" if "Devices" in browser.text(".side") else "some"))
        device = browser.text(".unreached td.id")
        browser.follow(device)
        browser.until("the reason now", lambda: "would not get the next update" in browser.text(".explained"))
        self.look("yesterday-device-" + ("all" if "Devices" in browser.text(".side") else "some"))
        self.say(f"finds yesterday's push, and why one device missed it: {reason!r}; now: {browser.text('.explained li')}")

    def week(self):
        """How many devices last week's match reached."""
        browser = self.browser
        self.follow_page("Numbers")
        browser.type("Name", "match-30")
        browser.press("Show")
        browser.until("the reach", lambda: "%" in browser.text(".rows .sum"))
        self.look("week-" + ("all" if "Devices" in browser.text(".side") else "some"))
        self.say("sees what last week's match reached: " + browser.text(".rows .sum").replace("\n", " ").replace("\t", " "))

    def end(self, name):
        browser = self.browser
        self.open_name(name)
        browser.choose("Event", "end")
        browser.until("the form", lambda: "Goals home" in browser.text("#of-name"))
        browser.press("Publish")
        browser.until("the question", lambda: "cards" in browser.text(".lead"))
        browser.press(browser.text(".primary"))
        browser.until("the push to be done", lambda: browser.text("#timeline .state").startswith("done"), 60)
        self.open_name(name)
        browser.until("the closed name", lambda: "An end closed this name" in browser.text("main"))
        self.look(f"{name}-ended")
        self.say(f"ends {name}")

    def credential(self):
        browser = self.browser
        self.follow_page("Credentials")
        browser.click_on("details.make summary")
        browser.type("Id", "evening-desk")
        browser.type("Only names that begin with", "match-")
        browser.script("document.querySelector('[name=scope_publish]').click()")
        browser.press("Make the credential")
        browser.until("the secret", lambda: "The secret of evening-desk" in browser.text("h1"))
        return browser.text("[data-once]")

    def apps(self):
        """Two apps in one browser, each in a tab of its own."""
        browser, secret = self.browser, self.secret
        home = self.options.second + "/console"
        self.url = home
        self.enter(secret)
        browser.click_on(".apps summary")
        self.look("apps-menu")
        browser.follow("Sign in to another app")
        browser.until("the sign-in", lambda: "another" in browser.url)
        browser.type("App key", "zero")
        browser.type("Master secret", "zero-" + secret)
        browser.press("Sign in")
        browser.until("the other app", lambda: browser.url.startswith(home + "/@zero") and "zero" in browser.text(".apps summary"))
        if "match-" in browser.text("main"):
            self.problems.append("the other app shows names of the first")
        self.follow_page("Names")
        if "/console/@zero/names" not in browser.url:
            self.problems.append(f"a link leaves the app: {browser.url}")
        # A tab of the first app beside it.
        first = browser.tab()
        browser.new_tab()
        browser.open(home + "/names")
        browser.until("the first app", lambda: self.key in browser.text(".apps summary") and "match-" in browser.text("main"))
        browser.show(first)
        browser.open(browser.url)
        browser.until("the other app still", lambda: "zero" in browser.text(".apps summary"))
        browser.click_on(".apps summary")
        browser.until("the menu", lambda: self.key in browser.text(".apps ul"))
        self.look("apps-menu-two")
        browser.follow(self.key)
        browser.until("the first app", lambda: self.key in browser.text(".apps summary") and "match-" in browser.text("main"))
        browser.click_on(".apps summary")
        browser.follow("zero")
        browser.until("the other app", lambda: "/@zero" in browser.url)
        browser.press("Sign out of all apps")
        browser.until("the sign-in", lambda: "/sign-in" in browser.url)
        for path in ("/@zero/names", "/names"):
            browser.open(home + path)
            browser.until("the sign-in", lambda: "/sign-in" in browser.url)
        self.say("changes between two apps, each in its tab, and signs out of both")
