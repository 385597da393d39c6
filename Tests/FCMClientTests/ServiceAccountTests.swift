import Foundation
import LiveActivity
import OpenSSL
import StrictJSON
import Testing

@testable import FCMClient

/// A service account with a key of its own.
struct TestAccount {
    var fields: [String: String]

    init() throws {
        fields = [
            "type": "service_account", "project_id": "shop-1", "private_key_id": "abc123",
            "private_key": String(decoding: try RSAPublicKey.generatePrivatePEM(), as: UTF8.self),
            "client_email": "push@shop-1.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
            "client_id": "1",
        ]
    }

    var json: [UInt8] { JSON.object(fields.map { JSON.Member($0.key, .string($0.value)) }).bytes }
    func read() throws(ServiceAccountError) -> ServiceAccount { try ServiceAccount(json: json) }
}

@Suite struct ServiceAccountTests {
    private func failure(_ json: [UInt8]) -> String {
        do throws(ServiceAccountError) {
            _ = try ServiceAccount(json: json)
            return ""
        } catch { return error.description }
    }

    @Test func `a key file is read, and shows no secret`() throws {
        let account = try TestAccount().read()
        #expect(account.projectID == "shop-1" && account.tokenURI == "https://oauth2.googleapis.com/token")
        #expect("\(account)" == "service account push@shop-1.iam.gserviceaccount.com of project shop-1")
    }

    @Test func `an error names the field, and shows nothing of the key`() throws {
        let good = try TestAccount()
        let secret = try #require(good.fields["private_key"]).split(separator: "\n")[3]
        for field in ["type", "project_id", "private_key_id", "private_key", "client_email", "token_uri"] {
            for value in [nil, ""] {
                var account = good
                account.fields[field] = value
                let text = failure(account.json)
                #expect(text.contains("field `\(field)`") && !text.contains(secret), "\(text)")
            }
        }
        let wrong = [
            ("type", "authorized_user", "service_account"), ("project_id", "a/b", "project_id"),
            ("token_uri", "http://oauth2.googleapis.com/token", "token_uri"), ("client_email", "push", "client_email"),
            ("private_key", String(decoding: try P256SigningKey.generatePEM(), as: UTF8.self), "not RSA"),
            ("private_key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "valid PKCS#8"),
            ("private_key", "secret", "no PEM block"),
        ]
        for (field, value, words) in wrong {
            var account = good
            account.fields[field] = value
            let text = failure(account.json)
            #expect(text.contains("field `\(field)`") && text.contains(words) && !text.contains("AAAA"), "\(text)")
        }
        let cut = good.json.dropLast(40)
        #expect(failure(Array(cut)).contains("line 1") && !failure(Array(cut)).contains(secret))
        #expect(failure([]).contains("empty") && failure([UInt8](repeating: 0x20, count: 70_000)).contains("larger"))
    }

    @Test func `the signed request has Google's claims`() throws {
        let file = try TestAccount()
        let pem = Array(try #require(file.fields["private_key"]).utf8)
        let parts = try file.read().assertion(at: 1_795_284_000).split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        let texts = parts.prefix(2).map { String(decoding: Base64.decodeURL($0) ?? [], as: UTF8.self) }
        #expect(texts[0] == #"{"alg":"RS256","typ":"JWT","kid":"abc123"}"#)
        #expect(
            texts[1]
                == #"{"iss":"push@shop-1.iam.gserviceaccount.com","#
                + #""scope":"https://www.googleapis.com/auth/firebase.messaging","#
                + #""aud":"https://oauth2.googleapis.com/token","iat":1795283940,"exp":1795287540}"#)
        let signature = try #require(Base64.decodeURL(parts[2]))
        #expect(try RSAPublicKey(privatePEM: pem).isValid(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
    }
}
