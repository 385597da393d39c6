import Answers
import LiveActivity
import Testing

@testable import Settings

/// The settings that the console shows to operators of an app.
@Suite struct ShownSettingsTests {
    private static let app = try! AppKey("shop")

    @Test func `each has its value, its source, and whether a reload changes it`() throws {
        let settings = try load(
            flags: ["log.level": "debug"], environment: ["LAMPLIGHTER_GATEWAY_PORT": "8090"],
            file: oneApp + "limits:\n  requests_per_address: 77\n")
        let shown = Dictionary(uniqueKeysWithValues: settings.shown(for: Self.app).map { ($0.name, $0) })
        let level = try #require(shown["log.level"])
        #expect(level.value == "debug" && level.source == "--log-level" && level.live)
        let port = try #require(shown["gateway.port"])
        #expect(port.value == "8090" && port.source == "LAMPLIGHTER_GATEWAY_PORT" && !port.live)
        let rate = try #require(shown["limits.requests_per_address"])
        #expect(rate.value == "77" && rate.source.hasPrefix("config/lamplighter.yaml:"))
        #expect(shown["redis.connections"]?.source == "default")
        let receipts = try #require(shown["shop: defaults.receipts"])
        #expect(receipts.value == nil && receipts.source == "default" && receipts.live)
        // Workers have settings of their own. A gateway that begins pushes gives workers leases.
        #expect(shown.keys.filter { $0.hasPrefix("worker.") } == ["worker.claim_after"] && shown["pushes.most"] == nil)
    }

    @Test func `no secret and no other app is shown`() throws {
        let mark = "hidden-0123456789abcdef"
        let pem = "-----BEGIN PRIVATE KEY-----\n\(mark)\n-----END PRIVATE KEY-----"
        let file = """
            apps:
              - key: shop
                secret: \(mark)-a
                master_secret: \(mark)-b
                bundle_id: com.example.shop
              - key: bank
                secret: \(mark)-d
                master_secret: \(mark)-e
                bundle_id: com.example.bank

            """
        let settings = try load(
            environment: [
                "LAMPLIGHTER_REDIS_URL": "redis://user:\(mark)@127.0.0.1:6379/0", "LAMPLIGHTER_MONITOR_SECRET": mark,
                "LAMPLIGHTER_TRACES_HEADERS": "authorization=\(mark)", "LAMPLIGHTER_GATEWAY_KEY": pem,
                "LAMPLIGHTER_GATEWAY_CERT": pem,
            ], file: file)
        for setting in settings.shown(for: Self.app) {
            #expect(setting.value?.contains("hidden") != true && !setting.source.contains("hidden"), "\(setting.name)")
            #expect(!"\(setting)".contains("bank"), "\(setting.name)")
        }
        let secrets = settings.shown(for: Self.app).filter(\.secret).map(\.name)
        #expect(
            secrets == [
                "redis.url", "monitor.secret", "traces.headers", "shop: secret", "shop: master_secret",
            ])
    }
}
