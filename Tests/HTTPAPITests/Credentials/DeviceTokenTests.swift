import StrictJSON
import Testing

@testable import HTTPAPI

/// The token that an app gets for its own channel. A thief of it harms one install.
@Suite struct DeviceTokenTests {
    private let mine = "0f2a3c1e-5b77-4a3c-9d51-2f6d8a9b0c11"
    private let other = "11111111-5b77-4a3c-9d51-2f6d8a9b0c11"

    private func token(_ gateway: GatewayFixture, _ query: String = "?only=reports") async throws -> [(String, String)]
    {
        let reply = try await gateway.send(
            "GET", "/api/auth/device" + query, user: "\(GatewayFixture.key):\(GatewayFixture.secret)",
            headers: [("X-UA-Channel-ID", mine)])
        let token = try reply.object.required("token").string()
        return [("Authorization", "Bearer \(token)"), ("X-UA-Appkey", GatewayFixture.key)]
    }

    /// Every row of the table, so that a new call is looked at too.
    @Test func `it opens the calls of its channel, and no call of another one or of a server`() async throws {
        try await GatewayFixture.run { gateway in
            let headers = try await token(gateway)
            var opened: Set<String> = []
            for endpoint in Endpoint.all where endpoint.access != .anyone {
                for channel in [mine, other] {
                    let path = endpoint.segments.map { segment in
                        switch segment {
                        case .literal(let text): "/" + text
                        case .parameter("channel"): "/" + channel
                        case .parameter: "/" + other
                        }
                    }.joined()
                    let reply = try await gateway.send(
                        endpoint.method, path, endpoint.body == .none ? nil : "{}", user: nil, headers: headers)
                    if reply.status == 401 { continue }
                    opened.insert("\(endpoint.method) \(endpoint.pattern)")
                    #expect(
                        channel == mine || !endpoint.segments.contains(.parameter("channel")),
                        "\(endpoint.method) \(path): \(reply.status)")
                }
            }
            #expect(
                opened == [
                    "PUT /api/channels/{channel}", "PUT /api/channels/sdk/batch/{channel}",
                    "PUT /api/activities/{name}/channels/{channel}", "DELETE /api/activities/{name}/channels/{channel}",
                    "PUT /api/start-tokens/{attributes_type}/channels/{channel}",
                    "DELETE /api/start-tokens/{attributes_type}/channels/{channel}", "POST /api/receipts",
                    "GET /api/activities/{name}/broadcast",
                ])
        }
    }

    @Test func `it takes no tags and no user, so it reaches nobody else's pushes`() async throws {
        try await GatewayFixture.run { gateway in
            for (query, user) in [("?only=reports", nil), ("", "user-7")] as [(String, String?)] {
                let headers = try await token(gateway, query)
                let own = #""named_user_id":"user-7","set_tags":true,"tags":["vip"]"#
                let told = try await gateway.send(
                    "PUT", "/api/channels/\(mine)", #"{"channel":{"device_type":"ios","device_os":"18.1",\#(own)}}"#,
                    user: nil, headers: headers)
                #expect(told.status == 200 && told.text.contains("named user stays") == (user == nil), "\(told.text)")
                let batch = try await gateway.send(
                    "PUT", "/api/channels/sdk/batch/\(mine)?platform=ios", #"{"tags":{"add":{"device":["vip"]}}}"#,
                    user: nil, headers: headers)
                #expect(batch.status == 200 && batch.text.contains("problems") == (user == nil), "\(batch.text)")
                let story = try await gateway.send("GET", "/api/channels/\(mine)")
                #expect(story.text.contains("vip") == (user != nil) && story.text.contains("user-7") == (user != nil))
            }
            let wrong = try await gateway.send(
                "GET", "/api/auth/device?only=all", user: "\(GatewayFixture.key):\(GatewayFixture.secret)",
                headers: [("X-UA-Channel-ID", mine)])
            #expect(wrong.status == 400)
        }
    }

    @Test func `it sends receipts of its channel alone, and finds a name's broadcast channel`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].takesReceipts = true }) { gateway in
            let headers = try await token(gateway)
            for (channel, status) in [(mine, 200), (other, 400)] {
                let receipt = #"{"push_id":"AZobbrFqfFi3jRgdXiQgeA","event":"shown","channel_id":"\#(channel)"}"#
                let reply = try await gateway.send(
                    "POST", "/api/receipts", #"{"receipts":[\#(receipt)]}"#, user: nil, headers: headers)
                #expect(reply.status == status)
            }
            let path = "/api/activities/match-42/broadcast"
            #expect(try await gateway.send("GET", path, user: nil, headers: headers).status == 404)
            #expect(try await gateway.send("PUT", path + "?wait=0", "{}").status == 202)
            #expect(try await gateway.send("GET", path, user: nil, headers: headers).status == 200)
            #expect(try await gateway.send("DELETE", path, user: nil, headers: headers).status == 401)
        }
    }
}
