import LiveActivity
import StrictJSON
import Testing

@testable import HTTPAPI

/// The rules for an ID token, and for each a token that breaks it alone.
@Suite struct IDTokenTests {
    private static let now: Int64 = 1_790_000_000
    private static let rules = IDToken.Rules(
        issuer: "https://id.example.com", clientID: "lamplighter", nonce: "a-nonce", now: now)
    private static let claims = JSON.fields([
        "iss": "https://id.example.com", "aud": "lamplighter", "sub": "user-7", "nonce": "a-nonce",
        "exp": .integer(now + 300), "iat": .integer(now), "email": "anna@example.com", "email_verified": true,
        "groups": .array(["editors", "ops"]),
    ])

    private func refusal(
        _ signer: TokenSigner, _ changes: [String: JSON?] = [:], header: [String: JSON?] = [:],
        keys: [UInt8]? = nil
    ) async throws -> IDToken.Refusal? {
        let token = try await signer.token(Self.claims.with(changes), header: header)
        let keys = try ProviderKeys(keys ?? TokenSigner.set(signer.key()))
        do throws(IDToken.Refusal) {
            _ = try IDToken(token, keys, Self.rules)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [TokenSigner.Kind.rsa, .p256, .rsa(bits: 4_096)])
    func `a right token names the person and the groups`(kind: TokenSigner.Kind) async throws {
        let signer = try await TokenSigner(kind)
        let keys = try ProviderKeys(TokenSigner.set(signer.key()))
        let token = try IDToken(try await signer.token(Self.claims), keys, Self.rules)
        #expect(token.subject == "user-7" && token.person == "anna@example.com")
        #expect(token.groups("groups") == ["editors", "ops"])
        #expect(token.groups("email") == ["anna@example.com"])
        #expect(token.groups("sub") == ["user-7"] && token.groups("none") == [] && token.groups("exp") == [])
    }

    @Test(
        arguments: [
            (["iss": "https://id.example.com/"], "iss"), (["iss": nil], "iss"), (["aud": "other"], "aud"),
            (["aud": nil], "aud"), (["aud": .array(["other"])], "aud"),
            (["aud": .array(["lamplighter", "other"])], "azp"), (["azp": "other"], "azp"), (["azp": 7], "azp"),
            (["aud": .array(["lamplighter", "other"]), "azp": "other"], "azp"),
            (["exp": .integer(now - 61)], "expired"), (["exp": nil], "exp"), (["exp": "soon"], "exp"),
            (["exp": .raw(Array("1e300".utf8))], "exp"), (["iat": nil], "iat"), (["iat": .integer(now + 61)], "iat"),
            (["iat": .integer(now - 601)], "iat"), (["nbf": .integer(now + 61)], "nbf"), (["nbf": "x"], "nbf"),
            (["nonce": "another"], "nonce"), (["nonce": nil], "nonce"), (["sub": nil], "sub"), (["sub": ""], "sub"),
            (["sub": .string(String(repeating: "x", count: 257))], "sub"),
        ] as [([String: JSON?], String)])
    func `a claim that is wrong or missing is refused`(changes: [String: JSON?], word: String) async throws {
        let refusal = try await refusal(try await TokenSigner(.p256), changes)
        guard case .wrong(let reason) = refusal else {
            Issue.record("\(changes) is not refused")
            return
        }
        #expect(reason.contains(word), "\(reason)")
    }

    @Test(
        arguments: [
            ["exp": .integer(now - 59)], ["iat": .integer(now + 59)], ["iat": .integer(now - 599)],
            ["aud": .array(["lamplighter"])],
            ["aud": .array(["other", "lamplighter"]), "azp": "lamplighter"], ["azp": "lamplighter"],
            ["exp": .raw(Array("1790000300.5".utf8))], ["nbf": .integer(now + 59)], ["email": nil, "groups": nil],
        ] as [[String: JSON?]])
    func `what differs a little is taken`(changes: [String: JSON?]) async throws {
        #expect(try await refusal(try await TokenSigner(.p256), changes) == nil)
    }

    @Test(
        arguments: [
            ["alg": "none"], ["alg": "HS256"], ["alg": "RS512"], ["alg": "PS256"], ["alg": nil], ["alg": "rs256"],
            ["alg": 5], ["crit": .array(["exp"])], ["alg": "ES256"],
        ] as [[String: JSON?]])
    func `another algorithm than the key's is refused`(header: [String: JSON?]) async throws {
        let refusal = try await refusal(try await TokenSigner(.rsa), header: header)
        #expect(refusal != nil && refusal != .unknownKey, "\(String(describing: refusal))")
    }

    @Test func `a signature of nothing, of a changed text, or of another key is refused`() async throws {
        let signer = try await TokenSigner(.rsa)
        let keys = try ProviderKeys(TokenSigner.set(signer.key()))
        let parts = try await signer.token(Self.claims).split(separator: ".").map(String.init)
        let other = try await TokenSigner(.rsa).token(Self.claims)
        let changed = Base64.encodeURL(Self.claims.with(["sub": "admin"]).bytes)
        for token in [
            "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])", "\(parts[0]).\(changed).\(parts[2])", other,
            "\(parts[0]).\(parts[1]).\(parts[2]).x", "\(parts[0]).\(parts[1]).\(parts[2])=", "", "..",
            "\(parts[0]).W10.\(parts[2])",
        ] {
            #expect(throws: IDToken.Refusal.self, "\(token)") { try IDToken(token, keys, Self.rules) }
        }
        // The public key as a shared secret: the oldest trick.
        #expect(try await refusal(signer, header: ["alg": "HS256"]) == .wrong("its alg is neither RS256 nor ES256"))
    }

    @Test func `a key is found by its id, or is the only one of its kind`() async throws {
        let (signer, second) = (try await TokenSigner(.rsa), try await TokenSigner(.rsa, id: "key-2"))
        let curve = try await TokenSigner(.p256, id: "key-3")
        let all = TokenSigner.set(second.key(), curve.key(), signer.key())
        #expect(try await refusal(signer, keys: all) == nil)
        #expect(try await refusal(curve, keys: all) == nil)
        #expect(try await refusal(signer, header: ["kid": "key-9"], keys: all) == .unknownKey)
        let named = try await refusal(signer, header: ["kid": "key-2"], keys: all)
        #expect(named == .ofNoKey("its signature is not valid"))
        let third = try await refusal(signer, header: ["kid": "key-3"], keys: all)
        #expect(third == .ofNoKey("its alg is not that of its key"))
        #expect(try await refusal(signer, header: ["kid": nil], keys: all) == .unknownKey, "two fit")
        #expect(try await refusal(curve, header: ["kid": nil], keys: all) == nil)
    }

    @Test func `keys that are not for this are left out`() async throws {
        let (signer, curve) = (try await TokenSigner(.rsa), try await TokenSigner(.p256))
        for changes: [String: JSON?] in [
            ["use": "enc"], ["alg": "RS512"], ["kty": "oct"], ["n": nil], ["n": ""], ["e": ""], ["e": "AQ"],
            ["e": "Ag"],
            ["n": .string(Base64.encodeURL([UInt8](repeating: 0xFF, count: 4_096)))],
        ] {
            let set = TokenSigner.set(signer.key(changes))
            #expect(try await refusal(signer, keys: set) == .unknownKey, "\(changes)")
        }
        for changes: [String: JSON?] in [["crv": "P-384"], ["x": "AAAA"], ["y": nil], ["alg": "RS256"]] {
            let set = TokenSigner.set(curve.key(changes))
            #expect(try await refusal(curve, keys: set) == .unknownKey, "\(changes)")
        }
        let plain = TokenSigner.set(signer.key(["use": nil, "alg": nil]))
        #expect(try await refusal(signer, keys: plain) == nil)
        let weak = try await TokenSigner(.rsa(bits: 1_024))
        #expect(try await refusal(weak) == .unknownKey, "1,024 bits are not safe")
        for text in ["", "[]", "{}", #"{"keys":{}}"#] {
            #expect(throws: OpenIDFailure.self) { try ProviderKeys(Array(text.utf8)) }
        }
    }

    @Test(
        arguments: [
            ([:], "anna@example.com"), (["email_verified": nil], "user-7"), (["email_verified": "true"], "user-7"),
            (["email_verified": 1], "user-7"),
            (["email_verified": false, "preferred_username": "anna"], "anna"),
            (["email": nil, "name": "Anna A"], "Anna A"),
            (["email": nil], "user-7"), (["email": "  "], "user-7"), (["email": .string("a\u{202E}b\nc\u{7}")], "abc"),
            (["email": .string(String(repeating: "x", count: 999))], String(repeating: "x", count: 100)),
        ] as [([String: JSON?], String)])
    func `the person's name is what the provider has seen, clean and short`(
        changes: [String: JSON?], name: String
    ) async throws {
        let signer = try await TokenSigner(.p256)
        let keys = try ProviderKeys(TokenSigner.set(signer.key()))
        let token = try await signer.token(Self.claims.with(changes))
        #expect(try IDToken(token, keys, Self.rules).person == name)
        for own: JSON? in [nil, false, "true", 1] {
            let unseen = try await signer.token(Self.claims.with(["email_verified": own]))
            #expect(try IDToken(unseen, keys, Self.rules).groups("email") == [], "nobody has seen that it is theirs")
        }
    }
}
