import Answers
import HTTPAPI
import Store
import Testing

@testable import Settings

/// `credentials:` of an app in the configuration file.
@Suite struct CredentialSettingsTests {
    private let hash = SecretHash(of: "some secret of an operator").text

    private func file(_ lines: String) -> String {
        oneApp + "    credentials:\n" + lines.split(separator: "\n").map { "      \($0)\n" }.joined()
    }

    @Test func `each entry has id, rights, limits and a hash or a file`() throws {
        let settings = try load(
            file: file(
                """
                - id: feed
                  scopes: publish, read
                  name_prefix: match-
                  expires_at: 2027-01-01T00:00:00
                  hash: \(hash)
                - id: backend
                  scopes: [track]
                  secret_file: backend.secret
                """))
        let found = settings.apps[0].credentials
        #expect(found.map(\.credential.id) == ["feed", "backend"])
        #expect(found[0].credential.scopes == [.publish, .read] && found[0].credential.namePrefix == "match-")
        #expect(found[0].credential.expires == 1_798_761_600_000)
        #expect(found[0].credential.secrets == [AppCredential.Secret(hash: hash)])
        #expect(found[1].credential.scopes == [.track] && found[1].credential.secrets.isEmpty)
        #expect(found[1].secretFile == "config/backend.secret", "beside the configuration file")
        #expect(try load(file: oneApp).apps[0].credentials.isEmpty)
    }

    @Test(arguments: [
        ("- scopes: read\n  hash: HASH", "apps[0].credentials[0].id is not set"),
        ("- id: feed\n  hash: HASH", "apps[0].credentials[0].scopes is not set"),
        ("- id: feed\n  scopes: read", "apps[0].credentials[0].hash is not set"),
        (
            "- id: feed\n  scopes: admin\n  hash: HASH",
            "some of \(CredentialScope.all.map(\.rawValue).joined(separator: ", "))"
        ),
        ("- id: feed\n  scopes: read\n  hash: HASH\n  name_prefix: match-*", "without a * behind it"),
        ("- id: master\n  scopes: read\n  hash: HASH", "none of master, app"),
        ("- id: a.b\n  scopes: read\n  hash: HASH", "1 to 64 characters of A-Z a-z 0-9 _ -"),
        ("- id: feed\n  scopes: read\n  hash: HASH\n  secret_file: f", "give either this or hash"),
        ("- id: feed\n  scopes: read\n  hash: plain-secret", "hmac-sha256:SALT:HASH"),
        ("- id: feed\n  scopes: read\n  hash: HASH\n  expires_at: soon", "a time like"),
        ("- id: feed\n  scopes: read\n  hash: HASH\n  expire_at: 2027-01-01T00:00:00", "did you mean 'expires_at'?"),
        ("- id: a\n  scopes: read\n  hash: HASH\n- id: a\n  scopes: read\n  hash: HASH", "'a' is listed twice"),
        ("feed: read", "credentials must be a list"),
    ])
    func `a wrong entry is refused with its place`(lines: String, words: String) {
        let text = refusal(file: file(lines.replacing("HASH", with: hash)))
        #expect(text.contains(words), "\(text)")
        #expect(!text.contains("plain-secret"))
    }
}
