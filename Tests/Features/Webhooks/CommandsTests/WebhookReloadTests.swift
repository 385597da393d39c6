import Settings
import Testing
import Threads

@testable import Commands

extension ReloadedSettingsTests {
    static let webhook: [(AppField, [AppField: String])] = [
        (.webhookURL, [.webhookURL: "https://other.example.com/"]), (.webhookCAFile, [.webhookCAFile: "/ca.pem"]),
        (.webhookAllowsPrivate, [.webhookAllowsPrivate: "true"]),
        (.webhookAllowsHTTP, [.webhookAllowsHTTP: "true", .webhookURL: "http://other.example.com/"]),
        (.webhookEvents, [.webhookEvents: "done", .webhookURL: "https://other.example.com/"]),
    ]
    /// No value of a secret can be shown: `ReloadStoryTests`.
    static let webhookSecret = AppField.webhookSecret
    static let webhookSecretFile = AppField.webhookSecretFile
}

extension PartOnTrial {
    static let webhook = PartOnTrial(
        values: [.webhookURL: "https://hooks.example.com/lamplighter", .webhookSecret: "the-webhook-secret"]
    ) { settings in
        let live = try LiveWebhooks(settings)
        return (live.part(), { live.webhooks.values.map(\.current) })
    }
}

/// The secret of a webhook in a file.
@Suite struct WebhookSecretTests {
    @Test(
        arguments: [
            (Array("\u{FEFF}whsec-0123456789\r\n".utf8), nil), (Array("\"whsec-0123456789\"".utf8), "is in quotes"),
            ([0xFF, 0xFE, 0x77, 0, 0x68, 0], "is UTF-16 text"),
            (Array("short".utf8), "does not hold 8 to 256 characters"),
            (Array("two words".utf8), "without spaces"), ([], "does not hold"),
        ] as [([UInt8], String?)])
    func `a secret from a file is what was meant, or named`(bytes: [UInt8], words: String?) throws {
        try CorpusTests.file(bytes) { path in
            let settings = try Settings.load(
                SettingsInput(
                    environment: CorpusTests.one.merging([
                        "LAMPLIGHTER_APP_WEBHOOK_URL": "https://a", "LAMPLIGHTER_APP_WEBHOOK_SECRET_FILE": path,
                    ]) { $1 }))
            let file = try #require(try settings.app(named: nil).file(.webhookSecretFile))
            do throws(SettingsError) {
                let secret = try file.secret { AppField.webhookSecret.violation($0) }
                #expect(words == nil ? secret == "whsec-0123456789" : settings.quotedSecretFiles.count == 1)
            } catch {
                #expect(words.map { error.description.contains($0) } == true && !error.description.contains("not set"))
            }
        }
    }
}
