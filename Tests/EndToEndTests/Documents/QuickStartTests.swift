import Foundation
import TestSupport
import Testing

/// Tests an app built by docs/ios-by-hand.md, and the backend of docs/ios.md. Bodies, schema and commands are read from
/// these pages.
@Suite("The iOS quick start")
struct QuickStartTests {
    @Test func `each step of the page works, from the start token to the broadcast channel`() async throws {
        let (page, guide) = (try Repository.text("docs/ios-by-hand.md"), try Repository.text("docs/ios.md"))
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_DEFAULTS_RECEIPTS": "true"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        // The form in which Swift writes a UUID.
        let channel = "6A1F2B6E-08C8-4D1E-9E6C-0A9F35C0A7D1"
        func send(_ method: String, _ path: String, _ body: String?) async throws -> [String: Any] {
            let answer = try await deployment.call(
                method, "\(deployment.gatewayURL)/api/\(path)", user: "shop:shop-secret", body: body)
            #expect((200..<300).contains(answer.status), "\(method) \(path): \(answer.text)")
            return answer.json
        }
        func update(_ home: Int) async throws -> Ledger? {
            try await deployment.post(
                "match-42", #""all""#, #""event":"update","content_state":{"home":\#(home),"away":0,"clock":"12:00"}"#
            ).ledger
        }

        // The backend's call of the guide. Its token makes the app's calls.
        let access = try #require(guide.firstMatch(of: /```sh\n(curl -u "\$KEY:\$SECRET"[\s\S]*?)\n```/)).1
        let answer = try await deployment.shell(
            "KEY=shop SECRET=shop-secret HOST='\(deployment.gatewayURL)' CHANNEL=\(channel); \(access)")
        let token = try #require(answer.out.firstMatch(of: /"token":"([^"]+)"/)).1
        let followed = try await deployment.shell(
            "curl -s -X DELETE -H 'Authorization: Bearer \(token)' -H 'X-UA-Appkey: shop' -w '%{http_code}' "
                + "'\(deployment.gatewayURL)/api/activities/match-42/channels/\(channel)'")
        #expect(followed.out == "204")

        let schema = try #require(guide.firstMatch(of: /```json\n([\s\S]*?)```/).map { String($0.1) })
        try schema.write(toFile: deployment.directory + "/match.json", atomically: true, encoding: .utf8)
        let set = try #require(guide.firstMatch(of: /`(lamplighter schema set [^`]+)`/).map { String($0.1) })
        #expect(try await deployment.shell(set).code == 0)

        let start = try Self.body(
            page, "let update: [String: Any] = [",
            ["type": "MatchAttributes", "hex(token)": Deployment.token(1), "Self.now": Deployment.now])
        let batch = try #require(page.firstMatch(of: /\["(live_activities)": \[update\]\]/)).1
        let query = try #require(page.firstMatch(of: /query: "([^"]+)"/)).1
        _ = try await send("PUT", "channels/sdk/batch/\(channel)?\(query)", #"{"\#(batch)":[\#(start)]}"#)
        let tagged = try await deployment.call(
            "POST", "\(deployment.gatewayURL)/api/channels/tags",
            body: #"{"audience":{"ios_channel":["\#(channel)"]},"add":{"device":["reds"]}}"#)
        #expect(tagged.status == 200, "\(tagged.text)")
        let command = try #require(
            guide.firstMatch(of: /```sh\n(lamplighter publish match-42 --event start[\s\S]*?)\n```/)
        ).1
        let started = try await deployment.shell(String(command) + " --wait --json")
        #expect(
            try Ledger(started.out.split(separator: "\n").last.map(String.init) ?? "")["delivered"] == 1,
            "\(started.err)")
        #expect(try await deployment.received(Deployment.token(1))["cards"] as? Int == 1)

        let path = "activities/match-42/channels/\(channel)"
        for isFrequent in [true, false] {
            let follow = try Self.body(
                page, #""PUT", ["api", "activities", name, "channels", channel.uuidString],"#,
                [
                    "hex(token)": Deployment.token(2), "activity": "E0B2", "Self.now": Deployment.now,
                    "frequentPushes": isFrequent,
                ])
            _ = try await send("PUT", path, follow)
            let bulk = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/match-42/channels")
            #expect(bulk.text.contains("frequent_pushes_enabled") == !isFrequent, "\(bulk.text)")
            for number in 0..<2 { #expect(try await update(number)?["delivered"] == 1) }
        }
        let publish = try #require(guide.firstMatch(of: /```sh\n(lamplighter publish match-42 --content[^\n]*)/)).1
        #expect(try await deployment.shell(String(publish)).code == 0)
        let shown = try await deployment.received(Deployment.token(2))
        #expect(shown["accepted"] as? Int == 5 && shown["event"] as? String == "update")

        // The device shows the last update.
        let mark = try #require((shown["content_state"] as? [String: Any])?["lamplighter"] as? String)
        let receipt = try Self.body(
            page, "let receipt = [",
            ["push": mark, "event": "shown", "channel.uuidString": channel])
        #expect(try await send("POST", "receipts", #"{"receipts":[\#(receipt)]}"#)["accepted"] as? Int == 1)
        let told = try await deployment.run("history", "match-42", "--limit", "2", "--json").out
        let pushes = try #require(try JSONSerialization.jsonObject(with: Data(told.utf8)) as? [String: Any])["pushes"]
        #expect((pushes as? [[String: Any]])?.map { $0["shown"] as? Int } == [1, nil])
        let history = try await deployment.run("history", "match-42").out
        #expect(history.contains("SHOWN"))

        _ = try await send("DELETE", path, nil)
        #expect(try await update(2)?["targets"] == 0)

        let device = try #require(page.firstMatch(of: /`(\{"channel": \{"device_type"[^`]*)`/)).1
        _ = try await send("PUT", "channels/\(channel)", String(device))
        let made = try await deployment.broadcast("PUT", "match-42", "{}")
        let found = try await send("GET", "activities/match-42/broadcast", nil)["broadcast"] as? [String: Any]
        #expect(found?["channel"] as? String == made.channel && made.channel != nil)
        _ = try await deployment.shell(String(command) + " --wait")
        let starts = try await deployment.received(Deployment.token(1))["history"] as? [[String: Any]]
        #expect(starts?.last?["input_channel"] as? String == made.channel)
        #expect(try await update(3)?.broadcast["state"] as? String == "delivered")
    }

    /// The first dictionary in the page's Swift code after `mark`, as JSON. `values` replaces its expressions.
    private static func body(_ page: String, _ mark: String, _ values: [String: Any]) throws -> String {
        let rest = page[try #require(page.range(of: mark), "the page has no \(mark)").upperBound...]
        let text = try #require(rest.firstMatch(of: /^\s*\[?\n([\s\S]*?)\n\s*\]/)).1
        var members: [String] = []
        for line in text.split(separator: "\n") where !line.contains("//") {
            for member in line.split(separator: ", ") {
                let parts = member.trimmingCharacters(in: CharacterSet(charactersIn: " ,")).split(
                    separator: ": ", maxSplits: 1)
                try #require(parts.count == 2, "\(member)")
                var value = parts[1].replacing("[", with: "{").replacing("]", with: "}")
                if let given = values[String(parts[1])] { value = given is String ? #""\#(given)""# : "\(given)" }
                members.append("\(parts[0]):\(value)")
            }
        }
        return "{" + members.joined(separator: ",") + "}"
    }
}
