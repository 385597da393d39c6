import Answers
import LiveActivity
import Store
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// Credentials beside the app's two secrets, from their making to their end.
@Suite struct CredentialTests {
    @Test func `no credential looks like a caller of Lamplighter's own`() async throws {
        try await GatewayFixture.run { gateway in
            for id in ["Master", "MASTER", "App", "unproven", "C-L-I", "master-secret", "app_secret"] {
                let reply = try await gateway.send("POST", "/api/credentials", #"{"id":"\#(id)","scopes":["read"]}"#)
                #expect(reply.status == 400 && reply.text.contains("id: is taken"), "\(id): \(reply.text)")
            }
            let credentials: [Credential] = [
                .master, .app, .device(.random()), .reporter(.random()), .signed(nil), .unproven,
            ]
            for credential in credentials { #expect(AppCredential.isTaken(credential.id), "\(credential.id)") }
            for id in ["master2", "my-app", "applet"] { #expect(!AppCredential.isTaken(id)) }
        }
    }

    @Test func `a credential opens what its scopes say, until it is revoked`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            let secret = try await Self.create(gateway, #"{"id":"feed","scopes":["publish","read"]}"#)
            #expect(secret.hasPrefix("feed."))
            let user = "\(GatewayFixture.key):\(secret)"
            let accepted = try await gateway.send("POST", "/api/push", Self.update("match-42"), user: user)
            #expect(accepted.status == 202, "\(accepted.text)")
            let id = try accepted.strings("push_ids")[0]
            let ledger = try await gateway.send("GET", "/api/push/\(id)", user: user)
            #expect(ledger.text.contains(#""by":{"credential":"feed","address":"127.0.0.1"}"#), "\(ledger.text)")
            let refused = try await gateway.send("POST", "/api/pause", user: user)
            #expect(refused.status == 403 && refused.text.contains("'feed' lacks the scope operate"))
            let path = "/api/activities/match-42/channels/c"
            #expect(try await gateway.send("PUT", path, #"{"token":"aa"}"#, user: user).status == 403)
            #expect(try await gateway.send("DELETE", "/api/credentials/feed").status == 204)
            #expect(try await gateway.send("GET", "/api/pushes", user: user).status == 401)
            #expect(try await gateway.send("DELETE", "/api/credentials/feed").status == 404)
            let told = try await ActionTests.actions(gateway, "?action=create_credential,revoke_credential")
            #expect(try told.map { try $0.required("credential_id").string() } == ["feed", "feed"])
        }
    }

    @Test func `Basic with the id beside the app key, and Bearer as Airship's clients send it`() async throws {
        try await GatewayFixture.run { gateway in
            let secret = try await Self.create(gateway, #"{"id":"ops","scopes":["read"]}"#)
            let key = GatewayFixture.key
            func status(_ user: String?, _ headers: [(String, String)] = []) async throws -> Int {
                try await gateway.send("GET", "/api/pushes", user: user, headers: headers).status
            }
            #expect(try await status("\(key)/ops:\(secret)") == 200)
            #expect(try await status("\(key)/other:\(secret)") == 401)
            #expect(try await status("other-app:\(secret)") == 401)
            #expect(try await status("nobody:\(secret)") == 401)
            #expect(try await status("\(key):\(secret)x") == 401)
            #expect(try await status("\(key):ops.") == 401)
            let bearer = ("Authorization", "Bearer \(secret)")
            #expect(try await status(nil, [bearer, ("X-UA-Appkey", key)]) == 200)
            #expect(try await status(nil, [bearer]) == 401)
            #expect(try await status(nil, [bearer, ("X-UA-Appkey", "other-app")]) == 401)
        }
    }

    /// The time of the answer would tell which apps there are.
    @Test func `a credential of an app that does not exist costs the same questions to Redis`() async throws {
        try await GatewayFixture.run { gateway in
            for app in [GatewayFixture.key, "no-such-app"] {
                // The first answer makes a gateway read all of an app's credentials.
                for _ in 0..<2 {
                    #expect(try await gateway.send("GET", "/api/pushes", user: "\(app):feed.x").status == 401)
                }
                for _ in 0..<5 {
                    let before = try await gateway.store.redis.calls(of: "hget")
                    #expect(try await gateway.send("GET", "/api/pushes", user: "\(app):feed.x").status == 401)
                    // One, and another if what is known is older than a second.
                    let questions = try await gateway.store.redis.calls(of: "hget") - before
                    #expect((1...2).contains(questions), "\(app)")
                }
            }
        }
    }

    @Test func `another gateway learns of a revocation within seconds`() async throws {
        try await GatewayFixture.run { gateway in
            let secret = try await Self.create(gateway, #"{"id":"feed","scopes":["read"]}"#)
            let user = "\(GatewayFixture.key):\(secret)"
            #expect(try await gateway.send("GET", "/api/pushes", user: user).status == 200)
            // The acts of another gateway are only seen in Redis.
            #expect(try await gateway.store.credentials.remove(try gateway.app, "feed"))
            try await eventually("the revocation is known") {
                try await gateway.send("GET", "/api/pushes", user: user).status == 401
            }
        }
    }

    @Test func `two secrets are valid during a rotation`() async throws {
        try await GatewayFixture.run { gateway in
            let first = try await Self.create(gateway, #"{"id":"feed","scopes":["read"]}"#)
            func status(_ secret: String) async throws -> Int {
                try await gateway.send("GET", "/api/pushes", user: "\(GatewayFixture.key):\(secret)").status
            }
            let second = try await gateway.send("POST", "/api/credentials/feed/rotate").string("secret")
            #expect(try await status(first) == 200)
            #expect(try await status(second) == 200)
            // Another rotation does not cut off who has not changed yet.
            let another = try await gateway.send("POST", "/api/credentials/feed/rotate", #"{"keep":3600}"#)
                .string("secret")
            for secret in [first, second, another] { #expect(try await status(secret) == 200) }
            for _ in 0..<5 { _ = try await gateway.send("POST", "/api/credentials/feed/rotate") }
            #expect(try await gateway.store.credentials.all(try gateway.app).credentials[0].secrets.count == 5)
            #expect(try await status(first) == 401, "the oldest makes room")
            let third = try await gateway.send("POST", "/api/credentials/feed/rotate", #"{"keep":0}"#)
                .string("secret")
            #expect(try await status(third) == 200)
            #expect(try await status(first) == 401)
            #expect(try await status(second) == 401)
            for body in [#"{"keep":-1}"#, #"{"keep":2592001}"#, #"{"keep":"1d"}"#, #"{"keeps":1}"#] {
                #expect(try await gateway.send("POST", "/api/credentials/feed/rotate", body).status == 400, "\(body)")
            }
            #expect(try await status(third) == 200)
        }
    }

    @Test func `a star behind a prefix is no part of it`() async throws {
        try await GatewayFixture.run { gateway in
            for (id, prefix, status) in [
                ("a", "match-*", 201), ("b", "match-", 201), ("c", "match-**", 400), ("d", "*", 400),
            ] {
                let body = #"{"id":"\#(id)","scopes":["read"],"name_prefix":"\#(prefix)"}"#
                let reply = try await gateway.send("POST", "/api/credentials", body)
                #expect(reply.status == status, "\(prefix): \(reply.text)")
                #expect(status != 201 || reply.text.contains(#""name_prefix":"match-""#), "\(reply.text)")
            }
        }
    }

    @Test func `a credential for some names reaches no others`() async throws {
        try await GatewayFixture.run { gateway in
            let scopes = #"["publish","read","track","operate"]"#
            let secret = try await Self.create(gateway, #"{"id":"m","scopes":\#(scopes),"name_prefix":"match-"}"#)
            let user = "\(GatewayFixture.key):\(secret)"
            func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> Int {
                try await gateway.send(method, path, body, user: user).status
            }
            let foreign = try await gateway.publish(Self.update("order-1")).strings("push_ids")[0]
            let own = try await gateway.publish(Self.update("match-1")).strings("push_ids")[0]
            #expect(try await send("POST", "/api/push", Self.update("match-1")) == 202)
            #expect(try await send("POST", "/api/push", Self.update("order-1")) == 403)
            #expect(try await send("POST", "/api/push", "[\(Self.update("match-1")),\(Self.update("order-1"))]") == 403)
            #expect(try await send("POST", "/api/push/validate", Self.update("order-1")) == 403)
            #expect(try await send("GET", "/api/push/\(own)") == 200)
            #expect(try await send("GET", "/api/push/\(foreign)") == 404)
            #expect(try await send("GET", "/api/push/\(foreign)/content") == 404)
            #expect(try await send("DELETE", "/api/push/\(foreign)") == 404)
            #expect(try await send("GET", "/api/activities/match-1") == 200)
            #expect(try await send("GET", "/api/activities/order-1") == 403)
            #expect(try await send("PUT", "/api/activities/order-1/channels/c", #"{"token":"aa"}"#) == 403)
            #expect(try await send("GET", "/api/pushes?name=match-1") == 200)
            #expect(try await send("GET", "/api/pushes?name=order-1") == 403)
            #expect(try await send("POST", "/api/pause", #"{"name":"match-1"}"#) == 200)
            #expect(try await send("POST", "/api/resume", #"{"name":"order-1"}"#) == 403)
            // Lists are of its names (ConsolePrefixTests).
            for path in ["/api/pushes", "/api/activities", "/api/dead", "/api/schedules"] {
                let list = try await gateway.send("GET", path, user: user)
                #expect(list.status == 200 && !list.text.contains("order-1"), "\(path): \(list.text)")
            }
            for path in [
                "/api/actions", "/api/credentials", "/api/settings", "/api/quarantine", "/api/broadcasts",
                "/api/channels", "/api/named_users",
            ] {
                #expect(try await send("GET", path) == 403, "\(path)")
            }
            for path in ["/api/pause", "/api/quarantine/release", "/api/channels/tags"] {
                #expect(try await send("POST", path) == 403, "\(path)")
            }
        }
    }

    @Test func `nobody makes, takes over or ends a credential with more rights than their own`() async throws {
        try await GatewayFixture.run { gateway in
            let ops = try await Self.create(gateway, #"{"id":"ops","scopes":["operate","read"]}"#)
            _ = try await Self.create(gateway, #"{"id":"feed","scopes":["publish"]}"#)
            let user = "\(GatewayFixture.key):\(ops)"
            func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> Int {
                try await gateway.send(method, path, body, user: user).status
            }
            #expect(try await send("POST", "/api/credentials", #"{"id":"a","scopes":["publish"]}"#) == 403)
            #expect(try await send("POST", "/api/credentials", #"{"id":"b","scopes":["read"]}"#) == 201)
            #expect(try await send("POST", "/api/credentials/feed/rotate") == 403)
            #expect(try await send("DELETE", "/api/credentials/feed") == 403)
            #expect(try await send("DELETE", "/api/credentials/b") == 204)
        }
    }

    @Test func `a credential that ends makes and takes over none that lives longer`() async throws {
        try await GatewayFixture.run { gateway in
            let ops = try await Self.create(gateway, #"{"id":"ops","scopes":["operate"],"expires_in":3600}"#)
            _ = try await Self.create(gateway, #"{"id":"peer","scopes":["operate"]}"#)
            let user = "\(GatewayFixture.key):\(ops)"
            for (body, status) in [
                (#"{"id":"a","scopes":["operate"]}"#, 403),
                (#"{"id":"a","scopes":["operate"],"expires_in":3601}"#, 403),
                (#"{"id":"a","scopes":["operate"],"expires_in":3600}"#, 201),
            ] {
                let reply = try await gateway.send("POST", "/api/credentials", body, user: user)
                #expect(reply.status == status, "\(reply.text)")
                #expect(status == 201 || reply.text.contains("must end by then too (`expires_in`)"), "\(reply.text)")
            }
            #expect(try await gateway.send("POST", "/api/credentials/peer/rotate", user: user).status == 403)
        }
    }

    @Test func `a credential gets no token of the SDK, which would outlive it`() async throws {
        try await GatewayFixture.run { gateway in
            let secret = try await Self.create(gateway, #"{"id":"backend","scopes":["track"]}"#)
            let user = "\(GatewayFixture.key):\(secret)"
            let channel = [("X-UA-Channel-ID", "c")]
            let reply = try await gateway.send("GET", "/api/auth/device", user: user, headers: channel)
            #expect(reply.status == 403 && reply.text.contains("would outlive the credential"), "\(reply.text)")
        }
    }

    @Test func `a server's Bearer token is told what to send`() async throws {
        try await GatewayFixture.run { gateway in
            let headers = [("Authorization", "Bearer abc"), ("X-UA-Appkey", GatewayFixture.key)]
            let reply = try await gateway.send("POST", "/api/push", publishText(), user: nil, headers: headers)
            #expect(reply.status == 401)
            #expect(reply.header("www-authenticate") == #"Bearer realm="lamplighter", error="invalid_token""#)
            #expect(try reply.integer("error_code") == 40101)
            #expect(reply.text.contains("send Basic with the app key") && reply.text.contains("Bearer"))
        }
    }

    @Test func `a bulk call ends once its credential is revoked`() async throws {
        try await GatewayFixture.run { gateway in
            let secret = try await Self.create(gateway, #"{"id":"backend","scopes":["track"]}"#)
            let socket = try Socket(port: gateway.port)
            let basic = Base64.encode("\(GatewayFixture.key):\(secret)".utf8)
            socket.send(
                "POST /api/activities/match-1/channels HTTP/1.1\r\nHost: x\r\nAuthorization: Basic \(basic)\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n")
            func send(_ count: Int) {
                for number in 0..<count {
                    let line = #"{"channel":"c-\#(number)","token":"aabb"}"# + "\n"
                    socket.send("\(String(line.utf8.count, radix: 16))\r\n\(line)\r\n")
                }
            }
            send(Registry.mostAtOnce)
            try await eventually("the first batch is applied") {
                let known = try await gateway.send("GET", "/api/activities/match-1")
                return try known.status == 200 && known.integer("tokens") == Registry.mostAtOnce
            }
            #expect(try await gateway.send("DELETE", "/api/credentials/backend").status == 204)
            send(Registry.mostAtOnce)
            socket.send("0\r\n\r\n")
            let answer = await socket.readAnswer()
            #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(answer)")
            #expect(answer.contains(#""lines_applied":\#(Registry.mostAtOnce)"#), "\(answer)")
            // The part that was applied is not hidden by the failure.
            let told = try #require(try await ActionTests.actions(gateway, "?action=import_followers").first)
            #expect(try told.required("failed").integer() == 401)
            #expect(try told.required("count").integer() == Registry.mostAtOnce)
        }
    }

    @Test func `an Idempotency-Key belongs to its credential, also to a rotated one`() async throws {
        try await GatewayFixture.run { gateway in
            let first = try await Self.create(
                gateway, #"{"id":"feed","scopes":["publish"],"name_prefix":"inside-"}"#)
            let other = try await Self.create(gateway, #"{"id":"other","scopes":["publish"]}"#)
            func publish(_ name: String, _ user: String) async throws -> Reply {
                try await gateway.send(
                    "POST", "/api/push", Self.update(name), user: user,
                    headers: [("Idempotency-Key", "match-42/full-time")])
            }
            let (key, master) = (GatewayFixture.key, "\(GatewayFixture.key):\(GatewayFixture.masterSecret)")
            let pushed = try await publish("inside-1", "\(key)/feed:\(first)")
            #expect(pushed.status == 202, "\(pushed.text)")
            // The same key of others is another key: it is not refused, and is no repetition.
            for (name, user) in [("match-42", master), ("match-42", "\(key)/other:\(other)")] {
                let reply = try await publish(name, user)
                #expect(reply.status == 202, "\(reply.text)")
            }
            #expect(try await publish("inside-2", "\(key)/feed:\(first)").status == 409)
            let rotated = try await gateway.send("POST", "/api/credentials/feed/rotate", #"{"keep":60}"#)
            let again = try await publish("inside-1", "\(key)/feed:\(try rotated.string("secret"))")
            #expect(try again.strings("push_ids") == pushed.strings("push_ids"))
        }
    }

    @Test func `a credential ends with its time`() async throws {
        try await GatewayFixture.run { gateway in
            let secret = try await Self.create(gateway, #"{"id":"feed","scopes":["read"],"expires_in":60}"#)
            let made = try await gateway.store.credentials.all(try gateway.app).credentials[0]
            #expect(made.expires == testNow + 60_000)
            let checked = CheckedCredential(made)
            #expect(checked.fits(Array(secret.utf8), at: testNow + 59_999))
            #expect(!checked.fits(Array(secret.utf8), at: testNow + 60_000))
        }
    }

    @Test func `whoever has a right secret is told when it ended, and nobody else`() async throws {
        try await GatewayFixture.run { gateway in
            let secret = SecretHash.newSecret(of: "feed")
            let ended = AppCredential(
                id: "feed", scopes: [.read], expires: testNow - 60_000,
                secrets: [AppCredential.Secret(hash: SecretHash(of: secret).text)])
            _ = try await gateway.store.credentials.change(try gateway.app, "feed", from: nil, to: ended)
            func refusal(_ secret: String) async throws -> String {
                let reply = try await gateway.send("GET", "/api/pushes", user: "\(GatewayFixture.key):\(secret)")
                #expect(reply.status == 401)
                return try reply.string("error")
            }
            #expect(try await refusal(secret).contains("'feed' ended at 2026-11-21T17:59:00"))
            #expect(try await refusal("feed.wrong").hasPrefix("Authentication failed"))
            #expect(try await refusal(secret + "x").hasPrefix("Authentication failed"))
            var browser = ConsoleBrowser(gateway)
            let page = try await browser.signIn(GatewayFixture.key, secret)
            #expect(page.status == 401 && page.text.contains("ended at 2026-11-21T17:59:00"), "\(page.text)")
        }
    }

    @Test(arguments: [
        #"{"id":"","scopes":["read"]}"#, #"{"id":"a.b","scopes":["read"]}"#, #"{"id":"master","scopes":["read"]}"#,
        #"{"id":"a","scopes":[]}"#, #"{"id":"a","scopes":["admin"]}"#, #"{"id":"a","scopes":"read"}"#, #"{"id":"a"}"#,
        #"{"id":"a","scopes":["read"],"expires_in":0}"#, #"{"id":"a","scopes":["read"],"name_prefix":""}"#,
        #"{"id":"a","scopes":["read"],"scope":"read"}"#, "[]", "",
    ])
    func `a body that is wrong makes nothing`(body: String) async throws {
        try await GatewayFixture.run { gateway in
            let reply = try await gateway.send("POST", "/api/credentials", body)
            #expect(reply.status == 400, "\(reply.text)")
            #expect(try await gateway.store.credentials.all(try gateway.app).credentials.isEmpty)
        }
    }

    @Test func `the list has those of the configuration, which stay, and no hash or secret`() async throws {
        let secret = SecretHash.newSecret(of: "backend")
        let hash = SecretHash(of: secret).text
        try await GatewayFixture.run(configure: {
            $0.apps[0].credentials = [
                AppCredential(id: "backend", scopes: [.track], secrets: [AppCredential.Secret(hash: hash)])
            ]
        }) { gateway in
            let user = "\(GatewayFixture.key):\(secret)"
            let path = "/api/activities/match-42/channels/c"
            #expect(try await gateway.send("PUT", path, #"{"token":"aa"}"#, user: user).status == 200)
            let made = try await Self.create(gateway, #"{"id":"feed","scopes":["publish","read"]}"#)
            let list = try await gateway.send("GET", "/api/credentials")
            let entries = try list.object.required("credentials").array().map { try $0.object() }
            #expect(try entries.map { try $0.required("id").string() } == ["app", "master", "backend", "feed"])
            #expect(!list.text.contains("hmac") && !list.text.contains(made) && !list.text.contains(secret))
            for request in [("DELETE", ""), ("POST", "/rotate")] {
                for id in ["backend", "master"] {
                    let reply = try await gateway.send(request.0, "/api/credentials/\(id)\(request.1)")
                    #expect(reply.status == 409, "\(reply.text)")
                }
            }
            let taken = #"{"id":"backend","scopes":["read"]}"#
            #expect(try await gateway.send("POST", "/api/credentials", taken).status == 409)
            let again = #"{"id":"feed","scopes":["read"]}"#
            #expect(try await gateway.send("POST", "/api/credentials", again).status == 409)
            #expect(!gateway.log.all.contains { $0.contains(made) }, "the log has no secret")
        }
    }

    @Test func `a hash fits its secret alone, and has one form`() throws {
        let secret = SecretHash.newSecret(of: "feed")
        let hash = SecretHash(of: secret)
        let read = try #require(SecretHash(hash.text))
        #expect(read == hash && read.fits(Array(secret.utf8)) && !read.fits(Array((secret + "x").utf8)))
        #expect(!read.fits([]))
        #expect(SecretHash(of: secret) != hash, "each has a salt of its own")
        for text in ["", "hmac-sha256", "hmac-sha256:aa:bb", "sha1" + hash.text.dropFirst(11), hash.text + "0"] {
            #expect(SecretHash(text) == nil, "\(text)")
        }
    }

    static func create(_ gateway: GatewayFixture, _ body: String) async throws -> String {
        let reply = try await gateway.send("POST", "/api/credentials", body)
        try #require(reply.status == 201, "\(reply.text)")
        return try reply.string("secret")
    }

    static func update(_ name: String) -> String {
        publishText(activity: #"{"name":"\#(name)","event":"update","content_state":{}}"#)
    }
}
