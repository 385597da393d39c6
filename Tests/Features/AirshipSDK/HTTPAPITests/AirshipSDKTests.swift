import LiveActivity
import OpenSSL
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// Tests the requests of Airship's iOS SDK as its source code makes them: headers, signatures and bodies. The
/// SDK itself was not run.
///
/// Source: urbanairship/ios-library, with AirshipRequestSession, ContactAPIClient, RemoteDataAPIClient,
/// ChannelBulkUpdateAPIClient.
@Suite struct AirshipSDKTests {
    private let channel = "0f2a3c1e-5b77-4a3c-9d51-2f6d8a9b0c11"
    private let other = "11111111-5b77-4a3c-9d51-2f6d8a9b0c11"

    @Test func `the SDK resolves, identifies and resets its contact`() async throws {
        try await GatewayFixture.run { gateway in
            let id = try ChannelID(channel)
            let unknown = try await identify(gateway, #"{"type":"resolve","contact_id":"\#(other)"}"#)
            #expect(unknown.isAnonymous)
            // An identify that waits since the first launch must not be older than this date.
            #expect(unknown.associated == "1970-01-01T00:00:00")
            let user = try await identify(
                gateway,
                #"{"type":"identify","named_user_id":"user:7%é","contact_id":"\#(unknown.contact)","possibly_orphaned_contact_id":"\#(unknown.contact)"}"#
            )
            #expect(!user.isAnonymous && user.contact != unknown.contact && user.associated == "2026-11-21T18:00:00")
            #expect(try await gateway.store.channels.namedUser(gateway.app, id) == "user:7%é")
            let again = try await identify(gateway, #"{"type":"resolve","contact_id":"\#(user.contact)"}"#)
            #expect(again.contact == user.contact && !again.isAnonymous)
            // Another device of the user has the same contact.
            let second = try await identify(gateway, #"{"type":"identify","named_user_id":"user:7%é"}"#, as: other)
            #expect(second.contact == user.contact)
            let reset = try await identify(gateway, #"{"type":"reset"}"#)
            #expect(reset.isAnonymous && reset.contact == unknown.contact)
            #expect(try await gateway.store.channels.namedUser(gateway.app, id) == nil)
            #expect(try await gateway.store.channels.namedUser(gateway.app, try ChannelID(other)) == "user:7%é")
        }
    }

    @Test func `a server's association is what the SDK resolves to`() async throws {
        try await GatewayFixture.run { gateway in
            let anonymous = try await identify(gateway, #"{"type":"resolve"}"#)
            _ = try await gateway.send(
                "POST", "/api/named_users/associate",
                #"{"channel_id":"\#(channel)","device_type":"ios","named_user_id":"user-7"}"#)
            let named = try await identify(gateway, #"{"type":"resolve","contact_id":"\#(anonymous.contact)"}"#)
            #expect(!named.isAnonymous && named.contact != anonymous.contact)
        }
    }

    @Test func `a bad identify is a 400, and an unsigned one a 401`() async throws {
        try await GatewayFixture.run { gateway in
            for (action, path) in [
                (#"{"type":"merge"}"#, "action.type"), (#"{"type":"identify"}"#, "action.named_user_id"),
                (#"{"type":"identify","named_user_id":""}"#, "action.named_user_id"), ("{}", "action.type"),
            ] {
                let reply = try await post(gateway, action, signed([channel, "n", "2026-11-21 18:00:00"]))
                #expect(reply.status == 400)
                #expect(try reply.object.required("details").object().required("path").string() == path)
            }
            // A request that is signed for the app alone acts for no channel.
            let forApp = signed(["n", "2026-11-21 18:00:00"])
            #expect(try await post(gateway, #"{"type":"resolve"}"#, forApp).status == 401)
            #expect(try await post(gateway, #"{"type":"resolve"}"#, []).status == 401)
        }
    }

    @Test func `a contact's token opens that contact, for its channel alone`() async throws {
        try await GatewayFixture.run { gateway in
            let mine = try await identify(gateway, #"{"type":"identify","named_user_id":"user-7"}"#)
            let theirs = try await identify(gateway, #"{"type":"resolve"}"#, as: other)
            let body =
                #"{"attributes":[{"action":"set","key":"a","value":1,"timestamp":"2026-11-21T18:00:00"}],"tags":{"add":{"plan":["gold"]},"set":{"plan":["silver"]},"remove":{"plan":["old"]}},"subscription_lists":[{"action":"subscribe","scope":"app","timestamp":"2026-11-21T18:00:00","list_id":"x"}]}"#
            func update(_ contact: String, _ token: String, path: String = "/api/contacts/") async throws -> Int {
                try await gateway.send(
                    "POST", path + contact, body, user: nil,
                    headers: sdkHeaders + [
                        ("Authorization", "Bearer \(token)"), ("X-UA-Appkey", GatewayFixture.key),
                    ]
                ).status
            }
            #expect(try await update(mine.contact, mine.token) == 200)
            #expect(try await tags(gateway, "plan", "gold") == [channel])
            #expect(try await tags(gateway, "plan", "silver") == [channel])
            #expect(try await update(theirs.contact, mine.token) == 401)
            #expect(try await update(mine.contact, theirs.token) == 401)
            // A token of one kind is not accepted as the other kind.
            let auth = try await gateway.send(
                "GET", "/api/auth/device", user: nil, headers: signed([channel, "n", "2026-11-21 18:00:00"]))
            let device = try auth.string("token")
            #expect(try await update(mine.contact, device) == 401)
            let batch = try await gateway.send(
                "PUT", "/api/channels/sdk/batch/\(channel)?platform=ios", "{}", user: nil,
                headers: sdkHeaders + [
                    ("Authorization", "Bearer \(mine.token)"), ("X-UA-Appkey", GatewayFixture.key),
                ])
            #expect(batch.status == 401)
        }
    }

    private let entry =
        #"{"action":"set","type":"update_token","id":"A","name":"order-1","token":"aa","#
        + #""action_ts_ms":1795284000000}"#

    @Test func `an app may leave tags and users to servers`() async throws {
        let narrow: (inout GatewayConfiguration) -> Void = { $0.apps[0].deviceRights = [] }
        try await GatewayFixture.run(configure: narrow) { gateway in
            let app = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            let body = #"{"channel":{"set_tags":true,"tags":["gold"],"named_user_id":"ann"}}"#
            let path = "/api/channels/\(channel)"
            // The channel is registered, but tags and user stay as they are.
            let reply = try await gateway.send("PUT", path, body, user: app)
            #expect(reply.status == 200 && reply.text.contains("device_tags") && reply.text.contains("device_users"))
            #expect(try await tags(gateway, "device", "gold") == [])
            let user = #"{"channel_id":"\#(channel)","device_type":"ios","named_user_id":"ann"}"#
            for call in ["associate", "disassociate"] {
                let refused = try await gateway.send("POST", "/api/named_users/\(call)", user, user: app)
                #expect(try refused.status == 403 && refused.integer("error_code") == 40303)
            }
            let stamp = [channel, "n", "2026-11-21 18:00:00"]
            for action in [#"{"type":"identify","named_user_id":"ann"}"#, #"{"type":"reset"}"#] {
                #expect(try await post(gateway, action, signed(stamp)).status == 403)
            }
            // The SDK asks this at each start.
            #expect(try await post(gateway, #"{"type":"resolve"}"#, signed(stamp)).status == 200)
            let batch = try await send(gateway, #"{"tags":{"add":{"plan":["gold"]}},"live_activities":[\#(entry)]}"#)
            #expect(try batch.status == 200 && batch.integer("applied") == 1 && batch.integer("problem_count") == 1)
            #expect(try await tags(gateway, "plan", "gold") == [])

            // A server may do both.
            #expect(try await gateway.send("PUT", path, body).status == 200)
            #expect(try await tags(gateway, "device", "gold") == [channel])
            #expect(try await gateway.store.channels.namedUser(gateway.app, ChannelID(channel)) == "ann")
        }
    }

    @Test func `one group in set, add and remove is applied in that order`() async throws {
        try await GatewayFixture.run { gateway in
            let before = #"{"tags":{"add":{"plan":["old","gone"]}}}"#
            let body =
                #"{"tags":{"add":{"plan":["b","gone"]},"set":{"plan":["a","c"]},"remove":{"plan":["gone","c"]}}}"#
            for batch in [before, body] {
                let reply = try await send(gateway, batch)
                #expect(reply.status == 200)
            }
            for (tag, isHeld) in [("a", true), ("b", true), ("c", false), ("old", false), ("gone", false)] {
                #expect(try await tags(gateway, "plan", tag) == (isHeld ? [channel] : []), "\(tag)")
            }
        }
    }

    @Test func `a bad entry does not stay in the SDK's queue`() async throws {
        let bad =
            #"{"action":"set","type":"update_token","id":"A","name":"","token":"aa","action_ts_ms":1795284000000}"#
        try await GatewayFixture.run { gateway in
            for (entries, applied) in [("\(bad),\(entry)", 1), (bad, 0)] {
                let batch = #"{"live_activities":[\#(entries)]}"#
                let reply = try await send(gateway, batch)
                #expect(reply.status == 200)
                #expect(try reply.integer("applied") == applied)
                #expect(try reply.object.required("problems").array().count == 1)
                #expect(try reply.object.required("warnings").array().count == 1)
                // A server gets the error, because it can correct its request.
                let path = "/api/channels/sdk/batch/\(channel)"
                let server = try await gateway.send("PUT", path, batch)
                #expect(server.status == 400)
                #expect(try server.integer("applied") == applied)
            }
            #expect(try await gateway.send("GET", "/api/activities/order-1").integer("tokens") == 1)
            // A body that is no batch at all is still an error.
            #expect(try await send(gateway, "[]").status == 400)
        }
    }

    @Test func `the SDK's remote config names this gateway`() async throws {
        let path =
            "/api/remote-data/app/\(GatewayFixture.key)/ios?language=en&country=US&sdk_version=19.11.0&random_value=4711"
        let headers =
            sdkHeaders + [("If-Modified-Since", "Thu, 01 Jan 2026 00:00:00 GMT")]
            + signed(["n", "2026-11-21 18:00:00"])
        try await GatewayFixture.run(configure: { $0.publicURL = "https://push.example.com" }) { gateway in
            let reply = try await gateway.send("GET", path, user: nil, headers: headers)
            #expect(reply.status == 200 && reply.header("last-modified") == "Thu, 01 Jan 2026 00:00:00 GMT")
            #expect(
                reply.text
                    == #"{"ok":true,"payloads":[{"type":"app_config","timestamp":"2026-01-01T00:00:00","data":{"airship_config":{"device_api_url":"https://push.example.com","remote_data_url":"https://push.example.com","analytics_url":"https://push.example.com"},"contact_config":{"max_cra_resolve_age_ms":86400000},"fetch_contact_remote_data":false}}]}"#
            )
            #expect(
                try await gateway.send("GET", "/api/remote-data/app/other-app/ios", user: nil, headers: headers).status
                    == 404)
            #expect(try await gateway.send("GET", path, user: nil).status == 401)
        }
        try await GatewayFixture.run { gateway in
            let reply = try await gateway.send("GET", path, user: nil, headers: headers)
            #expect(reply.status == 404 && reply.text.contains("gateway.public_url"))
        }
    }

    @Test func `a contact id is derived from the user, or from the channel`() throws {
        let (shop, bank) = (try AppKey("shop"), try AppKey("bank"))
        let channel = try ChannelID(channel)
        let all = [
            ContactID(of: shop, namedUser: "u"), ContactID(of: bank, namedUser: "u"),
            ContactID(of: shop, namedUser: "v"),
            ContactID(of: shop, anonymous: channel), ContactID(of: shop, namedUser: channel.description),
        ]
        #expect(Set(all).count == all.count)
        // Devices keep these ids, so they must not change from one version to the next.
        #expect(
            all[0].description == "502f6e02-eb54-840b-be9d-7ceecf6cc40a"
                && all[3].description == "a7d039ca-3f85-8cce-bd9b-2b270d9017bb")
        for contact in all {
            #expect(ContactID(contact.description.uppercased()) == contact)
            let text = Array(contact.description)
            #expect(text[14] == "8" && "89ab".contains(text[19]))
        }
    }

    @Test func `no credential looks like a contact, and none gets a token of one`() async throws {
        #expect(AppCredential.isTaken("Contact") && ContactID(channel)?.purpose.claim == "contact")
        try await GatewayFixture.run { gateway in
            let secret = try await CredentialTests.create(gateway, #"{"id":"backend","scopes":["track"]}"#)
            let reply = try await gateway.send(
                "POST", "/api/contacts/identify/v2",
                #"{"device_info":{"device_type":"ios"},"action":{"type":"reset"}}"#,
                user: "\(GatewayFixture.key):\(secret)", headers: [("X-UA-Channel-ID", "c")])
            #expect(reply.status == 403 && reply.text.contains("would outlive the credential"), "\(reply.text)")
        }
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: ["/api/contacts/identify/v2", "/api/contacts/a0c9a1b3-7a53-8c47-9716-99fd3d41924b"])
    func `calls about contacts have the limits of other calls`(path: String) async throws {
        try await GatewayFixture.run(configure: LimitTests.patiently(maximumRequests: 2)) { gateway in
            var slow: [Socket?] = []
            for _ in 0..<8 {
                slow.append(try await LimitTests.slowBody(gateway, "POST \(path)", secret: GatewayFixture.secret))
            }
            #expect(try await gateway.publish(publishText()).status == 202)
            var refused = 0
            for socket in slow {
                socket?.send(publishText())
                if await socket?.readAnswer().contains(" 503 ") ?? true { refused += 1 }
            }
            #expect(refused >= 8 - 4)
            let large = try Socket(port: gateway.port)
            large.send(
                "POST \(path) HTTP/1.1\r\nHost: x\r\n\(LimitTests.authorization)Content-Length: 2000000\r\n\r\n{")
            #expect(await large.readHead().hasPrefix("HTTP/1.1 413 "))
        }
    }

    // MARK: requests

    private struct Identified {
        var contact: String
        var isAnonymous: Bool
        var associated: String
        var token: String
    }

    private func identify(_ gateway: GatewayFixture, _ action: String, as id: String? = nil) async throws -> Identified
    {
        let reply = try await post(gateway, action, signed([id ?? channel, "n", "2026-11-21 18:00:00"]))
        #expect(reply.status == 200, "\(reply.text)")
        #expect(try reply.object.required("ok").bool())
        #expect(try reply.integer("token_expires_in") == 3_600_000)
        let contact = try reply.object.required("contact").object()
        return Identified(
            contact: try contact.required("contact_id").string(),
            isAnonymous: try contact.required("is_anonymous").bool(),
            associated: try contact.required("channel_association_timestamp").string(), token: try reply.string("token")
        )
    }

    private func post(
        _ gateway: GatewayFixture, _ action: String, _ headers: [(String, String)]
    ) async throws -> Reply {
        try await gateway.send(
            "POST", "/api/contacts/identify/v2", #"{"action":\#(action),"device_info":{"device_type":"ios"}}"#,
            user: nil,
            headers: sdkHeaders + headers)
    }

    /// Sends a batch with the token that the SDK fetches first.
    private func send(_ gateway: GatewayFixture, _ batch: String) async throws -> Reply {
        let auth = try await gateway.send(
            "GET", "/api/auth/device", user: nil, headers: signed([channel, "n", "2026-11-21 18:00:00"]))
        return try await gateway.send(
            "PUT", "/api/channels/sdk/batch/\(channel)?platform=ios", batch, user: nil,
            headers: sdkHeaders + [
                ("Authorization", "Bearer \(try auth.string("token"))"), ("X-UA-Appkey", GatewayFixture.key),
            ])
    }

    private let sdkHeaders = [
        ("Accept", "application/vnd.urbanairship+json; version=3;"), ("Accept-Encoding", "gzip;q=1.0, compress;q=0.5"),
        ("User-Agent", "(UALib 19.11.0; \(GatewayFixture.key))"), ("X-UA-App-Key", GatewayFixture.key),
    ]

    private func signed(_ parts: [String]) -> [(String, String)] {
        let text = ([GatewayFixture.key] + parts).joined(separator: ":")
        let code = HMACKey(GatewayFixture.secret.utf8).code(for: text.utf8)
        return [
            ("Authorization", "Bearer " + Base64.encode(code)), ("X-UA-Appkey", GatewayFixture.key),
            ("X-UA-Nonce", parts[parts.count - 2]), ("X-UA-Timestamp", parts[parts.count - 1]),
        ] + (parts.count == 3 ? [("X-UA-Channel-ID", parts[0])] : [])
    }

    /// The channels with this tag.
    private func tags(_ gateway: GatewayFixture, _ group: String, _ tag: String) async throws -> [String] {
        let channels = gateway.store.channels
        let key = channels.keys.members(try gateway.app, .tag(tag, group: group))
        let reply = try await channels.redis.run([RedisCommand("SMEMBERS", key)])[0]
        return try reply.array().compactMap { ChannelID(stored: try $0.bytes())?.description }
    }
}

extension ChangingCall {
    static let airshipSDK: [ChangingCall] = [
        ChangingCall("POST /api/contacts/identify/v2") { fixture, number in
            PreparedCall(
                path: "/api/contacts/identify/v2",
                body:
                    #"{"action":{"type":"identify","named_user_id":"u\#(number)"},"device_info":{"device_type":"ios"}}"#,
                headers: [("X-UA-Channel-ID", "c\(number)")]
            ) { (try await fixture.record("c\(number)")?.namedUser == "u\(number)").part }
        },
        ChangingCall("POST /api/contacts/{contact}") { fixture, number in
            PreparedCall(
                path: "/api/contacts/0f2a3c1e-5b77-4a3c-9d51-2f6d8a9b0c11", body: #"{"tags":{"add":{"g":["t"]}}}"#,
                headers: [("X-UA-Channel-ID", "c\(number)")]
            ) { try await fixture.tags("c\(number)").count }
        },
    ]
}
