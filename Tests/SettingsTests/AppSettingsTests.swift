import Settings
import LiveActivity
import Store
import Testing

@Suite("Apps")
struct AppSettingsTests {
    static let environment = [
        "LAMPLIGHTER_APP_KEY": "shop", "LAMPLIGHTER_APP_SECRET": "shop-secret",
        "LAMPLIGHTER_APP_MASTER_SECRET": "shop-master", "LAMPLIGHTER_APP_BUNDLE_ID": "com.example.shop",
        "LAMPLIGHTER_APNS_ENVIRONMENT": "sandbox", "LAMPLIGHTER_APNS_TEAM_ID": "ABCDE12345",
        "LAMPLIGHTER_APNS_KEY_ID": "FGHIJ67890", "LAMPLIGHTER_APNS_KEY_FILE": "keys/AuthKey.p8",
        "LAMPLIGHTER_APNS_URL": "https://127.0.0.1:8443/", "LAMPLIGHTER_APNS_CA_FILE": "/tmp/ca.pem",
    ]

    @Test func `one app comes from the environment alone`() throws {
        let settings = try load(environment: Self.environment)
        let app = try settings.app(named: nil)
        #expect("\(app.key)" == "shop")
        #expect(try app.required(.masterSecret) == "shop-master")
        #expect(app[.keyFile] == "keys/AuthKey.p8")
        #expect(app.apnsOrigin == "https://127.0.0.1:8443")
        #expect(settings.warnings.isEmpty)
    }

    @Test func `a relative key file lies beside the configuration file`() throws {
        let app = try load(file: oneApp).app(named: nil)
        #expect(app[.keyFile] == "config/AuthKey.p8")
        #expect(app.apnsOrigin == "https://api.sandbox.push.apple.com")
        #expect(app.manageOrigin == "https://api-manage-broadcast.sandbox.push.apple.com:2195")
    }

    @Test func `both environments: production first, the sandbox for what it does not know`() throws {
        let apple = try load(file: "apps:\n  - key: shop\n    apns: {environment: both}\n").apps[0]
        #expect(apple.apnsOrigin == "https://api.push.apple.com")
        #expect(apple.otherOrigin == "https://api.sandbox.push.apple.com")
        var environment = Self.environment
        #expect(try load(environment: environment).apps[0].otherOrigin == nil)
        environment["LAMPLIGHTER_APNS_ENVIRONMENT"] = "both"
        #expect(refusal(environment: environment).contains("LAMPLIGHTER_APNS_SANDBOX_URL is not set"))
        environment["LAMPLIGHTER_APNS_SANDBOX_URL"] = "https://127.0.0.1:9443/"
        let own = try load(environment: environment).apps[0]
        #expect(own.apnsOrigin == "https://127.0.0.1:8443" && own.otherOrigin == "https://127.0.0.1:9443")
        environment["LAMPLIGHTER_APNS_ENVIRONMENT"] = "production"
        #expect(refusal(environment: environment).contains("it is for apns.environment both"))
        #expect(
            refusal(file: "apps:\n  - key: a\n    apns: {environment: all}\n").contains("production, sandbox or both"))
    }

    @Test func `an app may have APNs, FCM or both`() throws {
        var environment = Self.environment
        let apns = try load(environment: environment).apps[0]
        #expect(apns.usesAPNs && !apns.usesFCM && apns.fcmOrigin == "https://fcm.googleapis.com")
        environment["LAMPLIGHTER_FCM_URL"] = "https://127.0.0.1:8444/"
        #expect(refusal(environment: environment).contains("LAMPLIGHTER_FCM_SERVICE_ACCOUNT_FILE is not set"))
        environment["LAMPLIGHTER_FCM_SERVICE_ACCOUNT_FILE"] = "keys/account.json"
        environment["LAMPLIGHTER_FCM_CA_FILE"] = "/tmp/ca.pem"
        let both = try load(environment: environment).apps[0]
        #expect(both.usesAPNs && both.usesFCM && both.fcmOrigin == "https://127.0.0.1:8444")
        #expect(both[.serviceAccountFile] == "keys/account.json" && both[.fcmCAFile] == "/tmp/ca.pem")
        let file = "apps:\n  - key: shop\n    fcm: {service_account_file: account.json}\n"
        let android = try load(file: file).apps[0]
        #expect(!android.usesAPNs && android.usesFCM && android[.serviceAccountFile] == "config/account.json")
        #expect(try load(file: "apps:\n  - key: shop\n").apps[0].usesAPNs, "so that what is missing is reported")
    }

    @Test func `the file's list wins over the environment's app, with a warning`() throws {
        var other = Self.environment
        other["LAMPLIGHTER_APP_KEY"] = "other"
        let settings = try load(environment: other, file: oneApp)
        #expect(settings.apps.map { "\($0.key)" } == ["shop"])
        #expect(settings.warnings.count == 1 && settings.warnings[0].contains("LAMPLIGHTER_APP_KEY"))
        #expect(!settings.warnings[0].contains("shop-master"))
    }

    @Test func `with several apps, a command must name one`() throws {
        let settings = try load(file: "apps:\n  - key: one\n  - key: two\n")
        #expect(throws: SettingsError.self) { try settings.app(named: nil) }
        #expect(throws: SettingsError.self) { try settings.app(named: "three") }
        #expect("\(try settings.app(named: "two").key)" == "two")
        #expect(refusal(file: "apps:\n  - key: one\n  - key: one\n").contains("listed twice"))
    }

    @Test func `what is missing is named as it would be set`() throws {
        let fromFile = try load(file: "apps:\n  - key: shop\n").apps[0]
        #expect(throws: SettingsError.self) { try fromFile.required(.masterSecret) }
        do {
            _ = try fromFile.required(.teamID)
        } catch {
            #expect(error.description.contains("apps[0].apns.team_id"))
        }
        let fromEnvironment = try load(environment: ["LAMPLIGHTER_APP_KEY": "shop"]).apps[0]
        do {
            _ = try fromEnvironment.required(.keyFile)
        } catch {
            #expect(error.description.contains("LAMPLIGHTER_APNS_KEY_FILE"))
        }
        #expect(refusal(environment: ["LAMPLIGHTER_APP_SECRET": "12345678"]).contains("LAMPLIGHTER_APP_KEY is not set"))
    }

    @Test func `an app's devices catch up by its own word, or else by the deployment's`() throws {
        let file =
            "defaults:\n  catch_up: true\napps:\n  - key: a\n    defaults: {catch_up: false}\n  - key: b\n"
        let settings = try load(file: file)
        #expect(settings.apps.map(settings.catchUp) == [false, true])
        let bare = try load(environment: Self.environment)
        #expect(!bare.catchUp(bare.apps[0]))
        #expect(refusal(file: "apps:\n  - key: a\n    defaults: {catch_up: yes}\n").contains("true or false"))
    }

    @Test func `an app says what its devices may do for themselves, everything by default`() throws {
        let file =
            "defaults:\n  device_tags: false\n  respect_dismissal: true\napps:\n  - key: a\n    defaults: {device_tags: true}\n  - key: b\n"
            + "    defaults: {device_users: false}\n"
        let settings = try load(file: file)
        #expect(settings.apps.map(settings.deviceTags) == [true, false])
        #expect(settings.apps.map(settings.respectDismissal) == [true, true])
        #expect(settings.apps.map(settings.deviceUsers) == [true, false])
        let bare = try load(environment: Self.environment)
        #expect(bare.deviceTags(bare.apps[0]) && bare.deviceUsers(bare.apps[0]))
        #expect(refusal(file: "defaults:\n  device_users: off\n").contains("one of true, false"))
    }

    @Test func `an app takes receipts by its own word, or else by the deployment's, and none by default`() throws {
        let file =
            "defaults:\n  receipts: true\napps:\n  - key: a\n    defaults: {receipts: false}\n  - key: b\n"
        let settings = try load(file: file)
        #expect(settings.apps.map(settings.receipts) == [false, true])
        let bare = try load(environment: Self.environment)
        #expect(!bare.receipts(bare.apps[0]))
        #expect(refusal(file: "defaults:\n  receipts: on\n").contains("one of false, true"))
    }

    @Test func `an app's updates are fresh for its own time, or else for the deployment's`() throws {
        let file =
            "defaults:\n  stale_after: 30m\napps:\n  - key: a\n    defaults:\n      stale_after: 15m\n"
            + "  - key: b\n  - key: c\n    defaults: {stale_after: 0}\n"
        let settings = try load(file: file)
        #expect(settings.apps.map(settings.staleAfter) == [.seconds(900), .seconds(1_800), nil])
        let bare = try load(environment: Self.environment)
        #expect(bare.staleAfter(bare.apps[0]) == nil)
        #expect(refusal(file: "apps:\n  - key: a\n    defaults: {stale_after: 9h}\n").contains("a time from 0 to 8h"))
    }

    @Test
    func `pushes without an expiry are tried for the app's own time, or the deployment's, or as long as a card lives`()
        throws
    {
        let file =
            "defaults:\n  expiry_update: 2h\napps:\n  - key: a\n    defaults:\n      expiry_update: 15m\n"
            + "      expiry_end: 24h\n  - key: b\n"
        let settings = try load(file: file)
        func lives(_ settings: Settings) -> [[Duration?]] {
            settings.apps.map(settings.lives).map { lives in [ActivityEvent.start, .update, .end].map { lives[$0] } }
        }
        let hour = Duration.seconds(3_600)
        #expect(lives(settings) == [[hour, .seconds(900), hour * 24], [hour, hour * 2, hour * 8]])
        var environment = Self.environment
        environment["LAMPLIGHTER_APP_DEFAULTS_EXPIRY_START"] = "10m"
        let single = try load(environment: environment)
        #expect(lives(single) == [[.seconds(600), hour * 8, hour * 8]])
        #expect(refusal(file: "apps:\n  - key: a\n    defaults: {expiry_end: 0}\n").contains("from 1s to 24h"))
        #expect(refusal(file: "defaults:\n  expiry_end: 25h\n").contains("a time from 1s to 86400s"))
    }

    @Test
    func `an app's cards are ended after its own time, or else after the deployment's; never, if nothing is said`()
        throws
    {
        let file =
            "defaults:\n  end_after: 8h\napps:\n  - key: a\n    defaults:\n      end_after: 7.5h\n"
            + "  - key: b\n  - key: c\n    defaults: {end_after: 0}\n"
        let settings = try load(file: file)
        #expect(settings.apps.map(settings.endAfter) == [.seconds(27_000), .seconds(28_800), nil])
        let bare = try load(environment: Self.environment)
        #expect(bare.endAfter(bare.apps[0]) == nil)
        var environment = Self.environment
        environment["LAMPLIGHTER_APP_DEFAULTS_END_AFTER"] = "1h"
        let single = try load(environment: environment)
        #expect(single.endAfter(single.apps[0]) == .seconds(3_600))
        #expect(refusal(file: "apps:\n  - key: a\n    defaults: {end_after: 9h}\n").contains("a time from 0 to 8h"))
        #expect(refusal(file: "defaults:\n  end_after: 9h\n").contains("a time from 0s to 28800s"))
    }

    @Test(arguments: [
        ("LAMPLIGHTER_APP_KEY", "a:b", "A-Z a-z 0-9"),
        ("LAMPLIGHTER_APP_SECRET", "hunter2", "8 to 256 characters"),
        ("LAMPLIGHTER_APP_MASTER_SECRET", "hunter 2 hunter", "8 to 256 characters"),
        ("LAMPLIGHTER_APNS_ENVIRONMENT", "prod", "production, sandbox or both"),
        ("LAMPLIGHTER_APNS_TEAM_ID", "AB-1", "letters and digits"),
        ("LAMPLIGHTER_APNS_URL", "http://127.0.0.1", "https://host"),
        ("LAMPLIGHTER_APNS_URL", "https://host/3/device", "without a path"),
    ])
    func `a wrong field names its place and its rule, and no secret is shown`(
        name: String, value: String, words: String
    ) {
        var environment = Self.environment
        environment[name] = value
        let text = refusal(environment: environment)
        #expect(text.contains(name) && text.contains(words), "\(text)")
        #expect(!text.contains("hunter"))
    }

    @Test func `one secret for devices and publishers is refused, a short one is named`() throws {
        var environment = Self.environment
        environment["LAMPLIGHTER_APP_MASTER_SECRET"] = "shop-secret"
        let text = refusal(environment: environment)
        #expect(text.contains("LAMPLIGHTER_APP_MASTER_SECRET") && text.contains("must differ"), "\(text)")
        #expect(!text.contains("shop-secret"))
        environment["LAMPLIGHTER_APP_MASTER_SECRET"] = "0123456789abcdef"
        #expect(try load(environment: environment).apps[0].shortSecrets == [.secret])
        let listed = refusal(
            file: "apps:\n  - {key: a, secret: 12345678, master_secret: 87654321}\n"
                + "  - {key: b, secret: 12345678, master_secret: 12345678}\n")
        #expect(listed.contains("apps[1].master_secret") && !listed.contains("apps[0]"), "\(listed)")
    }

    @Test func `a password of Redis in a flag is taken with a warning`() throws {
        let url = "redis://:hunter2@host:6379/0"
        let flag = try load(flags: ["redis.url": url]).warnings
        #expect(flag.count == 1 && flag[0].contains("LAMPLIGHTER_REDIS_URL") && !flag[0].contains("hunter2"), "\(flag)")
        #expect(try load(flags: ["redis.url": "redis://host:6379/0"]).warnings.isEmpty)
        #expect(try load(environment: ["LAMPLIGHTER_REDIS_URL": url]).warnings.isEmpty)
    }

    @Test func `printing an app shows no secret`() throws {
        let app = try load(environment: Self.environment).apps[0]
        for text in ["\(app)", String(describing: app)] {
            #expect(!text.contains("shop-secret") && !text.contains("shop-master"))
        }
        var dumped = ""
        dump(app, to: &dumped)
        #expect(!dumped.contains("shop-secret") && !dumped.contains("shop-master"))
    }

    @Test func `a password in a Redis URL is not repeated in an error`() {
        let text = refusal(environment: ["LAMPLIGHTER_REDIS_URL": "redis://u:hunter2@host:99999/0"])
        #expect(!text.contains("hunter2"))
    }

    @Test func `a worker serves all apps, some of them, or all but some`() throws {
        func served(_ apps: String?) throws -> [String] {
            let head = apps.map { "worker: {apps: '\($0)'}\n" } ?? ""
            return try load(file: head + "apps:\n  - key: a\n  - key: b\n  - key: c\n").ofWorker()
                .apps.map(\.key.rawValue)
        }
        #expect(try served(nil) == ["a", "b", "c"])
        #expect(try served("c, a") == ["a", "c"])
        #expect(try served("-b") == ["a", "c"])
        #expect(try served("-a, -b") == ["c"])
        for (apps, words) in [
            ("d", "worker.apps: there is no app 'd'; the apps are a, b, c"),
            ("-d", "worker.apps: there is no app 'd'; the apps are a, b, c"),
            ("-a,-b,-c", "worker.apps: it leaves no app for this worker"),
        ] {
            let error = #expect(throws: SettingsError.self) { try served(apps) }
            #expect(error.map { "\($0)" } == words)
        }
        for apps in ["a,-b", "a,,b", "-", ","] {
            #expect(refusal(file: "worker: {apps: '\(apps)'}\n").contains("app keys with commas"), "\(apps)")
        }
    }

    @Test func `an app has its own cap of the delivery rate, or the common one`() throws {
        let settings = try load(
            file: "delivery: {max_per_second: 100}\napps:\n  - key: a\n  - key: b\n"
                + "    delivery: {max_per_second: 0, max_per_second_push: 7}\n  - key: c\n"
                + "    delivery: {max_per_second: 0}\n")
        let rates = settings.apps.map(settings.deliveryRate)
        #expect(rates == [DeliveryRate(ofApp: 100, ofPush: 0), DeliveryRate(ofApp: 0, ofPush: 7), nil])
        #expect(refusal(file: "delivery: {max_per_second: many}\n").contains("a whole number from 0 to 10000000"))
    }
}
