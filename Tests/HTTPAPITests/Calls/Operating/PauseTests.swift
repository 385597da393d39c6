import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// An operator pauses and resumes.
@Suite struct PauseTests {
    @Test func `an app and a name are paused, shown and resumed`() async throws {
        try await GatewayFixture.run { gateway in
            #expect(try await gateway.send("GET", "/api/pauses").text == #"{"ok":true,"paused":[]}"#)
            let name = try await gateway.send("POST", "/api/pause", #"{"name":"match-42"}"#)
            #expect(name.status == 200 && name.text.contains(#""name":"match-42""#))
            #expect(try await gateway.send("POST", "/api/pause").status == 200)
            let ready = try await gateway.send("GET", "/readyz")
            #expect(try ready.status == 200 && ready.object.required("paused").array().count == 2)
            let accepted = try await gateway.publish(
                publishText(activity: #"{"name":"match-42","event":"update","content_state":{}}"#))
            #expect(accepted.status == 202, "a pause keeps, it does not refuse")
            #expect(try await gateway.send("POST", "/api/resume", "{}").status == 200)
            let rest = try await gateway.send("GET", "/api/pauses")
            #expect(rest.text.contains("match-42"))
            let explained = try await gateway.send("GET", "/api/activities/match-42/channels/c")
            #expect(explained.text.contains(#""code":"paused""#))
            #expect(try await gateway.send("POST", "/api/resume", #"{"name":"match-42"}"#).status == 200)
            #expect(try await gateway.send("POST", "/api/resume", #"{"name":"match-42"}"#).status == 404)
        }
    }

    @Test func `a pause of a name without followers says so, and which names are like it`() async throws {
        try await GatewayFixture.run { gateway in
            _ = try await gateway.send("PUT", "/api/activities/match-42/channels/device-1", #"{"token":"aabb"}"#)
            let wrong = try await gateway.send("POST", "/api/pause", #"{"name":"match-24"}"#)
            let warnings = try wrong.strings("warnings")
            #expect(wrong.status == 200 && warnings.count == 1, "\(wrong.text)")
            #expect(warnings[0] == #""match-24" has no followers; similar names with followers: "match-42""#)
            let right = try await gateway.send("POST", "/api/pause", #"{"name":"match-42"}"#)
            #expect(right.status == 200 && !right.text.contains("warnings"), "\(right.text)")
        }
    }

    @Test(arguments: [#"{"names":"a"}"#, #"{"name":7}"#, #"{"name":""}"#, "[]"])
    func `a body that is wrong pauses nothing`(body: String) async throws {
        try await GatewayFixture.run { gateway in
            let reply = try await gateway.send("POST", "/api/pause", body)
            #expect(reply.status == 400, "\(reply.text)")
            let paused = try await gateway.send("GET", "/api/pauses")
            #expect(paused.text == #"{"ok":true,"paused":[]}"#)
        }
    }
}
