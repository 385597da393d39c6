import Curl
import LiveActivity
import OpenSSL
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// Tests the requests of Airship's Android SDK as its source code makes them: paths, headers, signatures and bodies.
/// The SDK itself was not run.
///
/// Source: urbanairship/android-library@1c7b1d0 (20.10.0), with DefaultRequestSession, RemoteDataUrlFactory,
/// RemoteDataApiClient, ChannelApiClient, ChannelRegistrationPayload, ChannelAuthApiClient,
/// ChannelBatchUpdateApiClient, ContactApiClient.
@Suite struct AirshipAndroidSDKTests {
    private static let address = "fMEpW9-8T6:APA91b" + String(repeating: "x", count: 130)

    private func run(
        _ platforms: Set<Platform> = [.ios, .android], _ body: (AndroidSDK) async throws -> Void
    ) async throws {
        try await GatewayFixture.run(
            configure: {
                $0.apps[0].platforms = platforms
                $0.publicURL = "https://push.example.com"
            }
        ) { try await body(AndroidSDK(gateway: $0)) }
    }

    /// The whole registration. The SDK sends it first, and then once a day.
    private static func payload(tags: String = #"["a"]"#, version: String = "1.2") -> String {
        #"{"channel":{"device_type":"android","set_tags":true,"opt_in":true,"push_address":"\#(address)","background":true,"timezone":"Europe\/Paris","locale_language":"fr","locale_country":"FR","app_version":"\#(version)","sdk_version":"20.10.0","device_model":"Pixel 9","is_activity":true,"android":{"delivery_type":"fcm"},"location_settings":false,"android_api_version":36,"tags":\#(tags),"permissions":{"display_notifications":"granted"}},"identity_hints":{"user_id":"3SkSlh4dQeq"}}"#
    }

    /// A later registration: the SDK leaves out what is as it was.
    private static func minimised(_ rest: String = "") -> String {
        #"{"channel":{"device_type":"android","set_tags":false,"opt_in":true,"push_address":"\#(address)","background":true,"contact_id":"c1","is_activity":true,"android":{"delivery_type":"fcm"}\#(rest),"permissions":{"display_notifications":"granted"}}}"#
    }

    private static func mutation(_ action: String, _ name: String, at: Int64, start: Int64) -> String {
        #"{"action":"\#(action)","name":"\#(name)","start_ts_ms":\#(start),"action_ts_ms":\#(at)}"#
    }

    @Test(arguments: [("android", "fcm"), ("android", "hms&manufacturer=huawei"), ("amazon", "adm")])
    func `the SDK's remote config names this gateway`(platform: String, providers: String) async throws {
        try await run { sdk in
            let query = "sdk_version=20.10.0&random_value=4711&push_providers=\(providers)&language=fr&country=FR"
            let path = "/api/remote-data/app/\(GatewayFixture.key)/\(platform)?\(query)"
            let first = try await sdk.send("GET", path, auth: .app, accepts: false)
            #expect(first.status == 200, "\(first.text)")
            let payload = try #require(try first.object.required("payloads").array().first).object()
            #expect(try payload.required("type").string() == "app_config")
            // The SDK drops the whole answer if it cannot read the date.
            #expect(TimeText.parse(try payload.required("timestamp").string()) != nil)
            let data = try payload.required("data").object()
            // With a config of the app's own, the SDK calls nobody until it has this address.
            let config = try data.required("airship_config").object()
            #expect(try config.required("device_api_url").string() == "https://push.example.com")
            // It asks nobody for a contact's remote data then, and reports no metered usage.
            #expect(try data.required("fetch_contact_remote_data").bool() == false)
            #expect(config["metered_usage_url"] == nil && data["metered_usage"] == nil)
            let modified = try #require(first.header("last-modified"))
            let later = try await sdk.send(
                "GET", path, auth: .app, accepts: false, [("If-Modified-Since", modified)])
            #expect(later.status == 200)
        }
    }

    /// The SDK looks for this name as it is written here, so that other letters would lose the date.
    @Test func `the config's date comes under the name that the SDK reads`() async throws {
        try await run { sdk in
            let socket = try Socket(port: sdk.gateway.port)
            let fields = sdk.headers(.app, accepts: false).map { "\($0): \($1)\r\n" }.joined()
            socket.send(
                "GET /api/remote-data/app/\(GatewayFixture.key)/android HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
            let head = await socket.readHead()
            #expect(head.hasPrefix("HTTP/1.1 200") && head.contains("\r\nLast-Modified: Thu, 01 Jan 2026"), "\(head)")
        }
    }

    @Test func `a first launch registers the channel, and a later PUT changes only what it says`() async throws {
        try await run { sdk in
            let created = try await sdk.send("POST", "/api/channels/", Self.payload(), auth: .app)
            #expect(created.status == 201, "\(created.text)")
            let channel = try created.string("channel_id")
            #expect(try await sdk.address(channel) == Self.address)
            #expect(try await sdk.tags(channel) == ["a"])

            let token = try await sdk.token(channel)
            let put = try await sdk.send(
                "PUT", "/api/channels/\(channel)", Self.minimised(), auth: .token(token))
            #expect(put.status == 200, "\(put.text)")
            #expect(try await sdk.address(channel) == Self.address)
            #expect(try await sdk.tags(channel) == ["a"])

            // Other tags come as a whole list and as changes.
            let changed = Self.minimised(#","tags":["b\/c"],"tag_changes":{"add":["b\/c"],"remove":["a"]}"#)
                .replacing(#""set_tags":false"#, with: #""set_tags":true"#)
            #expect(
                try await sdk.send("PUT", "/api/channels/\(channel)", changed, auth: .token(token)).status == 200)
            #expect(try await sdk.tags(channel) == ["b/c"])

            // The user switches the app's features off: no address, no tags.
            let off =
                #"{"channel":{"device_type":"android","set_tags":true,"opt_in":false,"background":false,"is_activity":false,"tags":[]}}"#
            #expect(try await sdk.send("PUT", "/api/channels/\(channel)", off, auth: .token(token)).status == 200)
            #expect(try await sdk.address(channel) == nil)
            #expect(try await sdk.tags(channel) == [])
            #expect(
                try await sdk.send("PUT", "/api/channels/\(channel)", Self.minimised(), auth: .token(token)).status
                    == 200)
            #expect(try await sdk.address(channel) == Self.address)
        }
    }

    @Test func `a token that is over is a 401, and the SDK repeats the call once with another`() async throws {
        try await run { sdk in
            let channel = try await sdk.create(Self.payload())
            let path = "/api/channels/\(channel)"
            let app = GatewayApp(
                key: try sdk.gateway.app, secret: GatewayFixture.secret, masterSecret: GatewayFixture.masterSecret)
            let old = SDKTokens(app: app).token(for: try ChannelID(channel), now: testNow - 3_600_000)
            #expect(try await sdk.send("PUT", path, Self.minimised(), auth: .token(old)).status == 401)
            let token = try await sdk.token(channel)
            #expect(try await sdk.send("PUT", path, Self.minimised(), auth: .token(token)).status == 200)
            // Another channel's token opens nothing here.
            let other = try await sdk.token(try await sdk.create(Self.payload()))
            #expect(try await sdk.send("PUT", path, Self.minimised(), auth: .token(other)).status == 401)
        }
    }

    /// After a 409 the SDK would throw its channel away.
    @Test func `a channel that this gateway never made, or has forgotten, is taken as it comes`() async throws {
        try await run { sdk in
            let restored = "0f2a3c1e-5b77-4a3c-9d51-2f6d8a9b0c11"
            for channel in [restored, try await sdk.create(Self.payload())] {
                let put = try await sdk.send(
                    "PUT", "/api/channels/\(channel)", Self.payload(), auth: .token(try await sdk.token(channel)))
                #expect(put.status == 200, "\(put.text)")
                let forgotten = try await sdk.gateway.send(
                    "POST", "/api/channels/uninstall", #"[{"channel_id":"\#(channel)","device_type":"android"}]"#)
                #expect(forgotten.status == 202 || forgotten.status == 200, "\(forgotten.text)")
                let again = try await sdk.send(
                    "PUT", "/api/channels/\(channel)", Self.minimised(), auth: .token(try await sdk.token(channel)))
                #expect(again.status == 200, "\(again.text)")
            }
        }
    }

    /// The body of the SDK's own test (ChannelBatchUpdateApiClientTest), with times of today.
    @Test func `the batch is applied, and attributes and lists have no effect`() async throws {
        try await run { sdk in
            let channel = try await sdk.create(Self.payload())
            let now = testNow
            let body = """
                {"tags":{"add":{"some other group":["add tag"]},"remove":{"some other group":["remove tag"]},\
                "set":{"some group":["set tag"]}},\
                "attributes":[{"action":"set","value":"Bob","key":"name","timestamp":"1970-01-01T00:00:00.100Z"},\
                {"action":"set","value":"Loblaw","key":"last_name","timestamp":"1970-01-01T00:00:00.200Z"}],\
                "subscription_lists":[{"action":"subscribe","list_id":"burgers","timestamp":"1970-01-01T00:00:00Z"},\
                {"action":"unsubscribe","list_id":"burritos","timestamp":"1970-01-01T00:00:00Z"}],\
                "live_updates":[\(Self.mutation("set", "apples", at: now, start: now - 100)),\
                \(Self.mutation("remove", "fish", at: now, start: now - 100))]}
                """
            let token = try await sdk.token(channel)
            let path = "/api/channels/sdk/batch/\(channel)?platform=android"
            let reply = try await sdk.send("PUT", path, body, auth: .token(token))
            #expect(reply.status == 200 && reply.text == #"{"ok":true}"#, "\(reply.text)")
            #expect(try await sdk.tags(channel, "some other group") == ["add tag"])
            #expect(try await sdk.tags(channel, "some group") == ["set tag"])
            #expect(try await sdk.followers("apples") == [channel])
            #expect(try await sdk.followers("fish") == [])
            let empty = try await sdk.send("PUT", path, "{}", auth: .token(token))
            #expect(empty.status == 200)
        }
    }

    /// After a 4xx the SDK drops the whole batch.
    @Test func `what is wrong in a batch takes nothing else with it`() async throws {
        try await run { sdk in
            let channel = try await sdk.create(Self.payload())
            let token = try await sdk.token(channel)
            func set(_ name: String) -> String { Self.mutation("set", name, at: testNow, start: testNow) }
            // An app may give the start in seconds.
            let bad = Self.mutation("set", "fish", at: testNow, start: testNow / 1_000)
            let long = Array(repeating: bad, count: BatchBody.maximumUpdates)
            for (name, entries) in [("apples", [bad, set("apples")]), ("pears", [set("pears")] + long)] {
                let reply = try await sdk.send(
                    "PUT", "/api/channels/sdk/batch/\(channel)?platform=android",
                    #"{"live_updates":[\#(entries.joined(separator: ","))]}"#, auth: .token(token))
                #expect(try reply.status == 200 && reply.integer("applied") == 1, "\(reply.text)")
                #expect(try await sdk.followers(name) == [channel])
            }
        }
    }

    @Test func `the SDK resolves, identifies and resets its contact, and tags it`() async throws {
        try await run { sdk in
            let channel = try await sdk.create(Self.payload())
            func identify(_ action: String) async throws -> (contact: String, isAnonymous: Bool, token: String) {
                let reply = try await sdk.send(
                    "POST", "/api/contacts/identify/v2",
                    #"{"device_info":{"device_type":"android"},"action":\#(action)}"#, auth: .channel(channel))
                #expect(reply.status == 200, "\(reply.text)")
                let contact = try reply.object.required("contact").object()
                #expect(TimeText.parse(try contact.required("channel_association_timestamp").string()) != nil)
                #expect(try reply.integer("token_expires_in") == 3_600_000)
                return (
                    try contact.required("contact_id").string(), try contact.required("is_anonymous").bool(),
                    try reply.string("token")
                )
            }
            func user() async throws -> String? {
                try await sdk.gateway.store.channels.namedUser(sdk.gateway.app, ChannelID(channel))
            }
            let anonymous = try await identify(#"{"type":"resolve"}"#)
            #expect(anonymous.isAnonymous)
            let named = try await identify(
                #"{"named_user_id":"user\/7","type":"identify","contact_id":"\#(anonymous.contact)","possibly_orphaned_contact_id":"\#(anonymous.contact)"}"#
            )
            #expect(!named.isAnonymous)
            #expect(try await user() == "user/7")
            let update = try await sdk.send(
                "POST", "/api/contacts/\(named.contact)",
                #"{"tags":{"add":{"plan":["gold"]}},"attributes":[{"action":"set","key":"a","value":1,"timestamp":"2026-11-21T18:00:00.000Z"}],"subscription_lists":[{"action":"subscribe","scope":"app","timestamp":"2026-11-21T18:00:00Z","list_id":"x"}]}"#,
                auth: .token(named.token))
            #expect(update.status == 200, "\(update.text)")
            #expect(try await sdk.tags(channel, "plan") == ["gold"])
            let associated = try await sdk.send(
                "POST", "/api/contacts/\(named.contact)",
                #"{"associate":[{"device_type":"email","channel_id":"0f2a3c1e-5b77-4a3c-9d51-2f6d8a9b0c11"}]}"#,
                auth: .token(named.token))
            #expect(associated.status == 200)
            #expect(
                try await identify(#"{"type":"reset","possibly_orphaned_contact_id":"\#(named.contact)"}"#).isAnonymous)
            #expect(try await user() == nil)
        }
    }

    @Test func `a channel of another service is kept, and has no address`() async throws {
        try await run { sdk in
            let huawei = Self.payload().replacing(#""delivery_type":"fcm""#, with: #""delivery_type":"hms""#)
            let amazon = Self.payload().replacing(#""device_type":"android""#, with: #""device_type":"amazon""#)
                .replacing(#","android":{"delivery_type":"fcm"}"#, with: "")
            for (payload, platform) in [(huawei, "android"), (amazon, "amazon")] {
                let channel = try await sdk.create(payload)
                #expect(try await sdk.address(channel) == nil)
                let token = try await sdk.token(channel)
                let reply = try await sdk.send(
                    "PUT", "/api/channels/sdk/batch/\(channel)?platform=\(platform)",
                    #"{"live_updates":[\#(Self.mutation("set", "apples", at: testNow, start: testNow))]}"#,
                    auth: .token(token))
                #expect(reply.status == 200, "\(reply.text)")
                #expect(try await sdk.followers("apples").contains(channel))
            }
        }
    }

    @Test func `an app without Android keeps the channel, and no card`() async throws {
        try await run([.ios]) { sdk in
            let channel = try await sdk.create(Self.payload())
            #expect(try await sdk.tags(channel) == ["a"])
            let reply = try await sdk.send(
                "PUT", "/api/channels/sdk/batch/\(channel)?platform=android",
                #"{"live_updates":[\#(Self.mutation("set", "apples", at: testNow, start: testNow))]}"#,
                auth: .token(try await sdk.token(channel)))
            #expect(reply.status == 200, "\(reply.text)")
            #expect(try reply.integer("applied") == 0)
            #expect(try await sdk.gateway.send("GET", "/api/activities/apples").status == 404)
        }
    }

    /// Only the app's own calls cause these requests. A 5xx would be repeated.
    @Test(arguments: [
        ("POST", "/warp9/", AndroidSDK.Auth.channel("c")), ("GET", "/api/subscription_lists/channels/c", .channel("c")),
        ("GET", "/api/subscription_lists/contacts/c", .channel("c")),
        ("GET", "/api/contacts/associated_types/c", .channel("c")),
        ("POST", "/api/contacts/disassociate/c", .channel("c")),
        ("GET", "/api/remote-data-contact/android/c?sdk_version=20.10.0", .channel("c")),
        ("POST", "/api/channels/restricted/email/", .app), ("POST", "/api/channels/restricted/sms/", .app),
        ("POST", "/api/channels/restricted/open/", .app), ("POST", "/api/channels/resend", .app),
        ("POST", "/api/channels/sms/format", .app), ("POST", "/api/user/", .channel("c")),
        ("POST", "/api/metered-usage", .app),
    ])
    func `calls that are not served are a 404`(method: String, path: String, auth: AndroidSDK.Auth) async throws {
        try await run { sdk in
            let reply = try await sdk.send(method, path, method == "GET" ? nil : "{}", auth: auth)
            #expect(reply.status == 404, "\(reply.text)")
        }
    }
}

/// Makes the SDK's requests.
struct AndroidSDK {
    enum Auth: Sendable {
        /// GeneratedAppToken
        case app
        /// GeneratedChannelToken
        case channel(String)
        /// ChannelTokenAuth and ContactTokenAuth: no channel's id beside the token
        case token(String)
    }

    let gateway: GatewayFixture

    func headers(_ auth: Auth, accepts: Bool) -> [(String, String)] {
        let key = GatewayFixture.key
        var fields = [
            ("X-UA-App-Key", key), ("User-Agent", "(UrbanAirshipLib-android/20.10.0; \(key))"),
            ("Accept-Encoding", "gzip"),
        ]
        if accepts { fields.append(("Accept", "application/vnd.urbanairship+json; version=3;")) }
        fields.append(("X-UA-Appkey", key))
        func sign(_ parts: [String]) {
            let text = ([key] + parts).joined(separator: ":")
            let code = HMACKey(GatewayFixture.secret.utf8).code(for: text.utf8)
            fields += [
                ("X-UA-Nonce", parts[parts.count - 2]), ("X-UA-Timestamp", parts[parts.count - 1]),
                ("Authorization", "Bearer " + Base64.encode(code)),
            ]
        }
        let (nonce, time) = ("cf6a1f2b-08c8-4d1e-9e6c-0a9f35c0a7d1", "2026-11-21T18:00:00Z")
        switch auth {
        case .app: sign([nonce, time])
        case .channel(let id):
            sign([id, nonce, time])
            fields.append(("X-UA-Channel-ID", id))
        case .token(let token): fields += [("Authorization", "Bearer \(token)"), ("X-UA-Auth-Type", "SDK-JWT")]
        }
        return fields
    }

    func send(
        _ method: String, _ path: String, _ body: String? = nil, auth: Auth, accepts: Bool = true,
        _ more: [(String, String)] = []
    ) async throws -> Reply {
        var fields = headers(auth, accepts: accepts) + more
        if body != nil { fields.append(("Content-Type", "application/json")) }
        let request = HTTPRequest(
            method, "http://127.0.0.1:\(gateway.port)\(path)", headers: fields,
            body: body.map { .bytes(Array($0.utf8)) }, timeout: .seconds(120))
        return Reply(try await HTTPClient().send(request))
    }

    func create(_ payload: String) async throws -> String {
        let reply = try await send("POST", "/api/channels/", payload, auth: .app)
        #expect(reply.status == 201, "\(reply.text)")
        return try reply.string("channel_id")
    }

    func token(_ channel: String) async throws -> String {
        let reply = try await send("GET", "/api/auth/device", auth: .channel(channel), accepts: false)
        #expect(try reply.status == 200 && reply.integer("expires_in") == 3_600_000, "\(reply.text)")
        return try reply.string("token")
    }

    // MARK: what came of them

    func address(_ channel: String) async throws -> String? {
        let (page, _) = try await gateway.store.tokens.lookup(
            gateway.app, .addresses(on: .android), [ChannelID(channel).stored])
        return page.isEmpty ? nil : AndroidAddress(stored: page.token(0))?.text
    }

    func tags(_ channel: String, _ group: String = "device") async throws -> [String] {
        let reply = try await gateway.send("GET", "/api/channels/\(channel)")
        let shown = try reply.object.required("channel").object()
        let tags = try group == "device" ? shown["tags"] : shown["tag_groups"]?.object()[group]
        return try tags?.array().map { try $0.string() } ?? []
    }

    func followers(_ name: String) async throws -> [String] {
        let reply = try await gateway.send("GET", "/api/activities/\(name)/channels")
        return try reply.object.required("channels").array().map { try $0.object().required("channel").string() }
    }
}
