import HTTPTypes
import LiveActivity
import OpenSSL
import Testing

@testable import HTTPAPI

@Suite struct AuthenticatorTests {
    let app: GatewayApp
    let authenticator: Authenticator
    let channel = ChannelID(UUIDBytes(high: 3, low: 4))

    init() throws {
        app = GatewayApp(key: try AppKey("key-1"), secret: "app:secret", masterSecret: "master-secret")
        let other = GatewayApp(key: try AppKey("key-2"), secret: "s2", masterSecret: "m2")
        authenticator = Authenticator([app, other])
    }

    @Test func `basic credentials give a role`() {
        #expect(credential(basic("key-1:master-secret")) == .master)
        #expect(credential(basic("key-1:app:secret")) == .app)
        #expect(credential(basic("key-2:m2")) == .master)
        #expect(credential(["authorization": "bAsIc " + Base64.encode("key-2:s2".utf8)]) == .app)
    }

    @Test(arguments: [
        "key-1:wrong", "key-1:", "key-1", ":master-secret", "key-2:master-secret", "nobody:master-secret", "",
        "key-1:master-secret ",
    ])
    func `wrong credentials give nothing`(pair: String) {
        #expect(credential(basic(pair)) == nil)
    }

    @Test(arguments: ["", "Basic", "Basic ", "Basic !!!", "Digest x", "Bearer", "Bearer x", "Basic a b"])
    func `malformed headers give nothing`(value: String) {
        #expect(credential(["authorization": value]) == nil)
        #expect(credential(["authorization": value, "x-ua-appkey": "key-1"]) == nil)
    }

    @Test func `the SDK's signed requests`() {
        // Made with: printf 'key-1:NONCE:2026-11-21T18:00:00' | openssl dgst -sha256 -hmac app:secret -binary | base64
        let known = "Mjd1ysGcPaQO3mDwr1TvM3BVdMMnw2QmQwcrV6Hld38="
        let headers = ["x-ua-appkey": "key-1", "x-ua-nonce": "NONCE", "x-ua-timestamp": "2026-11-21T18:00:00"]
        #expect(credential(headers.merging(["authorization": "Bearer " + known]) { $1 }) == .signed(nil))
        let id = channel.description
        let bound = headers.merging(["x-ua-channel-id": id]) { $1 }
        let signed = "Bearer " + signature("key-1:\(id):NONCE:2026-11-21T18:00:00")
        #expect(credential(bound.merging(["authorization": signed]) { $1 }) == .signed(channel))
        // A signature without a channel is not valid for one, and the other way round.
        #expect(credential(bound.merging(["authorization": "Bearer " + known]) { $1 }) == nil)
        #expect(credential(headers.merging(["authorization": signed]) { $1 }) == nil)
        // Colons join the signed parts, so a nonce with a colon is refused.
        let joined = headers.merging(["authorization": signed, "x-ua-nonce": "\(id):NONCE"]) { $1 }
        #expect(credential(joined) == nil)
        #expect(credential(joined.merging(["x-ua-nonce": ""]) { $1 }) == nil)
        // The limit is one hour in both directions.
        let fields = headers.merging(["authorization": "Bearer " + known]) { $1 }
        #expect(credential(fields, now: testNow + 3_600_000) != nil)
        #expect(credential(fields, now: testNow + 3_600_001) == nil)
        #expect(credential(fields, now: testNow - 3_600_001) == nil)
    }

    @Test func `tokens hold for their channel, app and hour`() throws {
        let tokens = SDKTokens(app: app)
        let token = tokens.token(for: channel, now: testNow)
        let headers = ["authorization": "Bearer " + token, "x-ua-appkey": "key-1", "x-ua-auth-type": "SDK-JWT"]
        #expect(credential(headers) == .device(channel))
        #expect(credential(headers.merging(["x-ua-channel-id": channel.description]) { $1 }) == .device(channel))
        #expect(credential(headers.merging(["x-ua-channel-id": "other"]) { $1 }) == nil)
        #expect(credential(headers.merging(["x-ua-appkey": "key-2"]) { $1 }) == nil)
        #expect(credential(headers.merging(["x-ua-appkey": "nobody"]) { $1 }) == nil)
        #expect(credential(headers, now: testNow + 3_600_000) == nil)
        for position in [5, token.count / 2, token.count - 1] {
            var characters = Array(token)
            characters[position] = characters[position] == "A" ? "B" : "A"
            #expect(tokens.holder(of: String(characters), now: testNow) == nil)
        }
        let none = Base64.encodeURL(#"{"alg":"none"}"#.utf8) + "." + token.split(separator: ".")[1] + "."
        #expect(tokens.holder(of: none, now: testNow) == nil)
    }

    @Test func `a token for one purpose is no token for its channel`() {
        let purpose = TokenPurpose(claim: "moon", value: "io")
        let token = SDKTokens(app: app).token(for: channel, purpose: purpose, now: testNow)
        let headers = ["authorization": "Bearer " + token, "x-ua-appkey": "key-1"]
        #expect(credential(headers) == .bound(purpose, channel))
        #expect(credential(headers)?.id == "moon")
    }

    @Test func `what each credential opens`() {
        let other = ChannelID(UUIDBytes(high: 9, low: 9))
        let (mine, theirs) = (TokenPurpose(claim: "moon", value: "io"), TokenPurpose(claim: "moon", value: "callisto"))
        let table: [(Access, [Credential])] = [
            (.master, [.master]), (.server, [.master, .app]),
            (.channel, [.master, .app, .device(channel), .signed(channel)]),
            (.newChannel, [.master, .app, .signed(nil), .signed(channel), .signed(other)]),
            (.signedChannel, [.master, .app, .signed(channel), .signed(other)]),
            (.ownChannel, [.master, .app, .device(channel), .device(other), .signed(channel), .signed(other)]),
            (.purpose("moon"), [.master, .app, .bound(mine, channel)]),
        ]
        let all: [Credential] = [
            .master, .app, .device(channel), .device(other), .signed(channel), .signed(other), .signed(nil),
            .bound(mine, channel), .bound(theirs, channel), .bound(TokenPurpose(claim: "sun", value: "io"), channel),
        ]
        for (access, admitted) in table {
            let found = all.filter { access.admits($0, channel: channel, parameters: ["moon": "IO", "sun": "io"]) }
            #expect(found == all.filter(admitted.contains))
        }
    }

    private func basic(_ pair: String) -> [String: String] { ["authorization": "Basic " + Base64.encode(pair.utf8)] }

    private func signature(_ text: String) -> String {
        Base64.encode(HMACKey("app:secret".utf8).code(for: text.utf8))
    }

    private func credential(_ headers: [String: String], now: Int64 = testNow) -> Credential? {
        var fields = HTTPFields()
        for (name, value) in headers { if let name = HTTPField.Name(name) { fields[name] = value } }
        return authenticator.authenticate(fields, now: now)?.1
    }
}
