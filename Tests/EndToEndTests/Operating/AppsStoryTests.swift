import Foundation
import TestSupport
import Testing

/// Tests two apps in one deployment. Each has its own APNs, key and CA, but both use the same names and channel ids.
@Suite("Several apps")
struct AppsStoryTests {
    private static let (name, channel) = ("match-1", Deployment.channel(1))
    private static let tokens = ["news": Deployment.token(1), "shop": Deployment.token(2)]

    private static func entry(_ app: String, _ apns: Deployment.Announcement) -> String {
        let fields = ["url", "manage_url", "ca_file", "key_file", "key_id", "team_id"]
        return """
              - key: \(app)
                secret: \(app)-secret
                master_secret: \(app)-master
                bundle_id: com.example.\(app)
                apns: {\(fields.map { "\($0): \"\(apns[$0] ?? "")\"" }.joined(separator: ", "))}

            """
    }

    /// Runs a deployment with two apps. `body` also gets the control addresses of their APNs.
    private func withApps(_ body: (Deployment, [String: String]) async throws -> Void) async throws {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let other = try Program(
            [Program.path, "simulate", "--json", "--port", "0", "--directory", directory + "/apns"],
            directory: directory, environment: [:])
        defer { other.kill() }
        let shop = try await Deployment.announcement(other)
        let deployment = try await Deployment.start { news in
            "budget: {high_per_hour: 1}\napps:\n" + Self.entry("news", news) + Self.entry("shop", shop)
        }
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        for (app, token) in Self.tokens {
            let tracked = try await deployment.run("track", Self.name, Self.channel, token, "--app", app)
            #expect(tracked.code == 0, "\(tracked.err)")
        }
        try await body(deployment, ["news": deployment.controlURL, "shop": shop["control_url"] ?? ""])
    }

    private func publish(_ deployment: Deployment, _ app: String, _ options: String...) async throws -> Ledger {
        try await deployment.published(Self.name, ["--content-state", "{}", "--app", app] + options)
    }

    private func requests(_ deployment: Deployment, _ control: String?) async throws -> Int {
        let record = try await deployment.call("GET", (control ?? "") + "/simulator/record", user: nil).json
        return record["requests"] as? Int ?? -1
    }

    @Test
    func `each app's pushes go to its own APNs, under its own key, topic and budget; one that is refused halts alone`()
        async throws
    {
        try await withApps { deployment, control in
            let commanded = try await deployment.run("publish", Self.name, "--content-state", "{}")
            #expect(commanded.code == 64 || commanded.code == 78, "several apps: which one must be said")
            for app in ["news", "shop"] {
                let ledger = try await publish(deployment, app)
                #expect(ledger["delivered"] == 1 && ledger["targets"] == 1 && ledger["demoted"] == 0)
                let newest = try await deployment.call("GET", control[app]! + "/simulator/newest", user: nil).text
                #expect(newest.contains("apns-topic: com.example.\(app).push-type.liveactivity"), "\(newest)")
                #expect(newest.contains("/3/device/" + Self.tokens[app]!))
            }
            #expect(try await publish(deployment, "news")["demoted"] == 1, "news has used up its hour")
            #expect(try await requests(deployment, control["news"]) == 2)
            #expect(try await requests(deployment, control["shop"]) == 1)

            // A tag in one app has no effect on the channel with the same id in the other app.
            let tags = #"{"audience":{"ios_channel":["\#(Self.channel)"]},"add":{"device":["gold"]}}"#
            let tagged = try await deployment.call(
                "POST", deployment.gatewayURL + "/api/channels/tags", user: "shop:shop-master", body: tags)
            #expect(tagged.status == 200)
            #expect(try await publish(deployment, "news", "--audience", #"{"tag":"gold"}"#)["targets"] == 0)
            #expect(try await publish(deployment, "shop", "--audience", #"{"tag":"gold"}"#)["delivered"] == 1)

            let refuse = #"{"reject_all":"InvalidProviderToken"}"#
            _ = try await deployment.call("POST", control["news"]! + "/simulator/faults", user: nil, body: refuse)
            let halted = try await deployment.run("publish", Self.name, "--content-state", "{}", "--app", "news")
            #expect(halted.code == 0)
            try await eventually("the alarm") {
                try await deployment.call("GET", deployment.gatewayURL + "/readyz", user: nil).text
                    .contains("InvalidProviderToken")
            }
            #expect(try await publish(deployment, "shop")["delivered"] == 1)
            let ready = try await deployment.call("GET", deployment.gatewayURL + "/readyz", user: nil)
            let alarms = ready.json["alarms"] as? [[String: Any]] ?? []
            #expect(alarms.map { $0["app"] as? String } == ["news"])
            let metrics = try await deployment.call("GET", deployment.gatewayURL + "/metrics", user: nil).text
            for line in [
                #"lamplighter_fleet_alarms{app="news",kind="credentials"} 1"#,
                #"lamplighter_fleet_alarms{app="shop",kind="credentials"} 0"#,
                #"lamplighter_pushes_total{app="news",outcome="accepted"} 4"#,
                #"lamplighter_pushes_total{app="shop",outcome="accepted"} 3"#,
                #"lamplighter_registrations_total{app="shop",outcome="stored"} 1"#,
            ] { #expect(metrics.contains(line), "\(line)") }
        }
    }

    @Test func `what one app has, the other neither sees nor changes`() async throws {
        try await withApps { deployment, _ in
            func call(
                _ method: String, _ path: String, as app: String, body: String? = nil
            ) async throws -> (status: Int, json: [String: Any], text: String) {
                try await deployment.call(
                    method, deployment.gatewayURL + path, user: "\(app):\(app)-master", body: body)
            }
            let push = try await publish(deployment, "news").fields["push_id"] as? String ?? ""
            let schedule = """
                {"schedule":{"scheduled_time":"\(Self.tomorrow)"},"push":{"audience":"all","device_types":["ios"],
                "notification":{"ios":{"live_activity":{"name":"match-1","event":"update","content_state":{}}}}}}
                """
            let scheduled = try await call("POST", "/api/schedules", as: "news", body: schedule)
            let id = (scheduled.json["schedule_ids"] as? [String])?.first ?? ""
            #expect(scheduled.status == 201, "\(scheduled.text)")
            let schema = #"{"content_state":{"type":"object"},"names":["match-*"]}"#
            #expect(try await call("PUT", "/api/schemas/Match", as: "news", body: schema).status == 200)
            let made = try await call("PUT", "/api/activities/match-1/broadcast", as: "news", body: "{}")
            #expect(made.status == 200, "\(made.text)")

            let strangers: [(String, String, String?)] = [
                ("GET", "/api/push/\(push)", nil), ("DELETE", "/api/push/\(push)", nil),
                ("GET", "/api/push/\(id)", nil), ("GET", "/api/schedules/\(id)", nil),
                ("DELETE", "/api/schedules/\(id)", nil), ("GET", "/api/schemas/Match", nil),
                ("DELETE", "/api/schemas/Match", nil), ("GET", "/api/activities/match-1/broadcast", nil),
                ("DELETE", "/api/activities/match-1/broadcast", nil), ("GET", "/api/dead/\(push)", nil),
                ("POST", "/api/dead/\(push)/retry", nil), ("DELETE", "/api/dead/\(push)", nil),
            ]
            for (method, path, body) in strangers {
                let answer = try await call(method, path, as: "shop", body: body)
                #expect(answer.status == 404, "\(method) \(path): \(answer.status) \(answer.text)")
            }
            #expect(try await call("GET", "/api/schedules", as: "shop").json["total_count"] as? Int == 0)
            #expect(try await call("GET", "/api/broadcasts", as: "shop").json["channels"] as? Int == 0)
            #expect(try await call("GET", "/api/schemas", as: "shop").text.contains("Match") == false)

            // Deleting in one app leaves things of the same name in the other.
            let (name, channel) = (Self.name, Self.channel)
            #expect(try await call("DELETE", "/api/activities/\(name)/channels/\(channel)", as: "shop").status == 204)
            #expect(try await call("GET", "/api/activities/\(name)", as: "shop").json["tokens"] as? Int ?? 0 == 0)
            #expect(try await call("GET", "/api/activities/\(name)", as: "news").json["tokens"] as? Int == 1)
            for path in ["/api/push/\(push)", "/api/schedules/\(id)", "/api/schemas/Match"] {
                #expect(try await call("GET", path, as: "news").status == 200, "\(path)")
            }
            #expect(try await call("GET", "/api/activities/match-1/broadcast", as: "news").status == 200)
            #expect(try await publish(deployment, "news")["delivered"] == 1)
        }
    }

    private static var tomorrow: String {
        String(Date(timeIntervalSinceNow: 86_400).ISO8601Format().dropLast())
    }
}
