import Curl
import Foundation
import LiveActivity
import StrictJSON
import TestSupport
import Testing
import Threads

@testable import Console
@testable import HTTPAPI
@testable import Store

/// The lists of the console: filters, the way back, and files.
@Suite struct ConsoleListTests {
    @Test func `pushes are found by day and by person, and come as a file`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            let secret = try await CredentialTests.create(gateway, #"{"id":"feed","scopes":["read","publish"]}"#)
            _ = try await gateway.publish(CredentialTests.update("match-42"))
            let own = try await gateway.send(
                "POST", "/api/push", CredentialTests.update("match-7"), user: "\(GatewayFixture.key):\(secret)")
            #expect(own.status == 202, "\(own.text)")
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let day = String(TimeText.plainText(gateway.store.time.now()).prefix(10))
            let all = try await browser.get("/console/pushes?from=\(day)&to=\(day)").text
            #expect(all.contains("match-42") && all.contains("match-7"))
            #expect(try await browser.get("/console/pushes?to=2001-01-01").text.contains("No push fits."))
            let feed = try await browser.get("/console/pushes?person=feed").text
            #expect(!feed.contains("match-42") && feed.contains("match-7"), "\(feed)")
            #expect(feed.contains("person=feed&amp;as=csv"), "\(feed)")
            let file = try await browser.get("/console/pushes?person=feed&as=csv")
            #expect(file.header("content-type") == "text/csv; charset=utf-8")
            #expect(file.header("content-disposition")?.contains("pushes.csv") == true)
            let lines = file.text.split(separator: "\r\n")
            #expect(lines.count == 2 && lines[0].hasPrefix("push_id,name,event,"), "\(file.text)")
            let raw = try await browser.get("/console/pushes?as=ndjson").text.split(separator: "\n")
            #expect(raw.count == 2 && raw.allSatisfy { $0.hasPrefix("{\"push_id\"") })
            for path in ["names", "devices", "schedules", "dead", "quarantine", "broadcasts", "actions"] {
                for form in ["csv", "ndjson"] {
                    let list = try await browser.get("/console/\(path)?as=\(form)")
                    #expect(list.status == 200 && list.header("content-disposition") != nil, "\(path) \(form)")
                }
            }
        }
    }

    @Test func `a list goes forward and back, and keeps its filter`() async throws {
        try await GatewayFixture.run { gateway in
            for number in 0..<120 { try await gateway.follow("match-\(number)") }
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            func link(_ rel: String, _ page: String) throws -> String {
                let end = try #require(page.range(of: "\" rel=\"\(rel)\""), "\(page)").lowerBound
                return String(try #require(page[..<end].split(separator: "href=\"").last))
                    .replacing("&amp;", with: "&")
            }
            func names(_ page: String) -> Int { page.split(separator: #"data-label="Name""#).count - 1 }
            let first = try await browser.get("/console/names?contains=match").text
            let second = try await browser.get(try link("next", first)).text
            let third = try await browser.get(try link("next", second)).text
            #expect(names(first) == 50 && names(second) == 50 && names(third) == 20)
            #expect(!first.contains("Previous page"))
            let back = try await browser.get(try link("prev", third)).text
            #expect(try names(back) == 50 && link("next", back) == link("next", second))
            #expect(try link("prev", back) == "/console/names?contains=match")
        }
    }

    @Test func `the followers of a name are listed without tokens, filtered, and saved with them`() async throws {
        try await GatewayFixture.run { gateway in
            for channel in ["phone-1", "phone-2", "tablet-1"] {
                let path = "/api/activities/match-42/channels/\(channel)"
                _ = try await gateway.send("PUT", path, #"{"token":"aabbccddeeff"}"#)
            }
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let name = try await browser.get("/console/names/match-42").text
            #expect(name.contains("/console/names/match-42/followers"))
            let page = try await browser.get("/console/names/match-42/followers?device=phone-").text
            #expect(page.contains("phone-1") && page.contains("phone-2") && !page.contains("tablet-1"), "\(page)")
            #expect(!page.contains("aabbccddeeff"))
            let old = try await browser.get("/console/names/match-42/followers?to=2001-01-01").text
            #expect(old.contains("No device fits."))
            let file = try await browser.get("/console/names/match-42/followers?device=tablet&as=ndjson").text
            #expect(file.split(separator: "\n").count == 1 && file.contains("aabbccddeeff"))
        }
    }

    @Test func `two files are made at once, and the third is refused until one is done`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let capacity = gateway.gateway.live.current.capacity
            let app = try gateway.app
            let shares = (0..<Capacity.filesOfConsole).map { _ in capacity.share(of: .console, app) }
            let isTaken = shares.map { $0.take(.streams) }
            // One app of several has half of the places.
            #expect(isTaken.contains(true))
            let busy = try await browser.get("/console/names?as=csv")
            #expect(busy.status == 429 && busy.text.contains("files of the console"), "\(busy.text)")
            for share in shares { share.giveBackAll() }
            for _ in 0..<5 {
                #expect(try await browser.get("/console/names?as=csv").status == 200)
                let cookie = ("Cookie", "lamplighter_console=\(browser.cookie ?? "")")
                let head = try await gateway.send("HEAD", "/console/names?as=csv", user: nil, headers: [cookie])
                #expect(head.status == 200)
            }
        }
    }

    @Test func `a schedule's file has its time and state, and not the body that was posted`() async throws {
        try await GatewayFixture.run { gateway in
            let time = #""schedule":{"scheduled_time":"2027-01-01T00:00:00"}"#
            for number in 0..<25 {
                let push = CredentialTests.update("match-\(number)")
                _ = try await gateway.send("POST", "/api/schedules", #"{\#(time),"push":\#(push)}"#)
            }
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let csv = try await browser.get("/console/schedules?as=csv").text
            #expect(csv.split(separator: "\r\n").count == 26 && csv.contains("scheduled_time"), "\(csv)")
            #expect(csv.contains(",match-7,update") && !csv.contains("content_state"), "\(csv)")
            let whole = try await browser.get("/console/schedules?as=ndjson").text
            #expect(whole.split(separator: "\n").count == 25 && whole.contains("live_activity"))
        }
    }

    @Test func `devices are searched by a tag and by how their ids begin`() async throws {
        try await GatewayFixture.run { gateway in
            for channel in ["phone-1", "phone-2", "tablet-1"] {
                let tags = channel == "tablet-1" ? "gold" : "silver"
                let body = #"{"channel":{"device_type":"ios","set_tags":true,"tags":["\#(tags)"]}}"#
                _ = try await gateway.send("PUT", "/api/channels/\(channel)", body)
            }
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let prefixed = try await browser.get("/console/devices?id=phone").text
            #expect(prefixed.contains("phone-1") && prefixed.contains("phone-2") && !prefixed.contains("tablet-1"))
            let tagged = try await browser.get("/console/devices?tag=gold").text
            #expect(tagged.contains("tablet-1") && !tagged.contains("phone-1"))
            #expect(try await browser.get("/console/devices?tag=team:gold").text.contains("No device fits."))
            let found = try await browser.get("/console/devices?id=tablet-1")
            #expect(found.header("location") == "/console/devices/tablet-1")
        }
    }

    @Test func `the log of actions is filtered by action, names credentials, and leads to summed pushes`() async throws
    {
        try await GatewayFixture.run { gateway in
            _ = try await CredentialTests.create(gateway, #"{"id":"feed","scopes":["read"]}"#)
            _ = try await gateway.send("POST", "/api/pause", #"{"name":"match-42"}"#)
            let sum = Action(
                "publish", credential: "master", address: "::1", operation: "o", subjects: [.name: "match-42"],
                count: 77)
            try await gateway.store.actions.add(try gateway.app, [sum])
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let made = try await browser.get("/console/actions?action=create_credential").text
            #expect(made.contains(">feed</span>") && !made.contains("match-42"), "\(made)")
            let all = try await browser.get("/console/actions").text
            for kind in ActionKind.all {
                #expect(all.contains(#"<option value="\#(kind)""#), "\(kind) cannot be chosen")
            }
            let link = try #require(all.split(separator: "href=\"").first { $0.hasPrefix("/console/pushes?person=") })
            let path = String(link.prefix { $0 != "\"" }).replacing("&amp;", with: "&")
            #expect(path.contains("person=master&name=match-42&from=20"))
            let pushes = try await browser.get(path).text
            #expect(pushes.contains("Only from 20") && pushes.contains(" UTC to 20"), "\(pushes)")
        }
    }
}
