import Fanout
import HTTPAPI
import LiveActivity
import Settings
import Store
import Testing

/// Settings that a running process can change, and those that need a restart.
@Suite struct ReloadTests {
    func change(
        _ process: SettingsChange.Process, _ old: String, _ new: String
    ) throws -> SettingsChange {
        SettingsChange(from: try load(file: old), to: try load(file: new), in: process)
    }

    @Test func `the same file changes nothing, however it is written`() throws {
        let change = try change(.gateway, "limits: {names: 5}\n" + oneApp, "limits:\n  names: 5\n" + oneApp)
        #expect(change.isEmpty)
    }

    @Test func `each process says what it uses now and what needs a restart`() throws {
        let old = "log: {level: info}\ngateway: {port: 1}\npacing: {min_interval: 1}\nworker: {lanes: 1}\n" + oneApp
        let new = "log: {level: debug}\ngateway: {port: 2}\npacing: {min_interval: 2}\nworker: {lanes: 2}\n" + oneApp
        let gateway = try change(.gateway, old, new)
        let both: Set = ["log.level", "pacing.min_interval"]
        #expect(Set(gateway.applied) == both && gateway.needsRestart == ["gateway.port"])
        let worker = try change(.worker, old, new)
        #expect(Set(worker.applied) == both && worker.needsRestart == ["worker.lanes"])
    }

    @Test func `secrets concern gateways, keys workers, and no value is shown`() throws {
        func file(_ secret: String, _ key: String) -> String {
            """
            apps:
              - key: shop
                secret: \(secret)
                master_secret: the-master-secret
                bundle_id: com.example.shop
                apns: {team_id: TEAM123456, key_id: \(key), key_file: \(key).p8}

            """
        }
        let (old, new) = (file("the-old-secret-0001", "OLDKEY1234"), file("the-new-secret-0002", "NEWKEY1234"))
        let gateway = try change(.gateway, old, new)
        #expect(gateway.applied == ["shop: secret"] && gateway.needsRestart.isEmpty)
        #expect(gateway.access.map(\.rawValue) == ["shop"])
        let worker = try change(.worker, old, new)
        #expect(worker.applied == ["shop: apns.key_id", "shop: apns.key_file"] && worker.needsRestart.isEmpty)
        #expect(worker.access.isEmpty)
        #expect(!"\(gateway) \(worker)".contains("the-"))
    }

    @Test func `a gateway takes apps in and out, a worker needs a restart`() throws {
        let old = "apps:\n  - key: a\n  - key: b\n"
        let new = "apps:\n  - key: b\n  - key: c\n"
        let gateway = try change(.gateway, old, new)
        #expect(gateway.applied == ["apps: c is new", "apps: a is gone"] && gateway.needsRestart.isEmpty)
        #expect(gateway.access.map(\.rawValue) == ["c"])
        #expect(try change(.worker, old, new).needsRestart == ["apps: c is new", "apps: a is gone"])
    }

    @Test func `a worker that serves some apps hears nothing of the others`() throws {
        func worker(_ apps: String) throws -> Settings { try load(file: "worker: {apps: a}\n" + apps).ofWorker() }
        let old = try worker("apps:\n  - key: a\n  - key: b\n")
        let new = try worker("apps:\n  - key: a\n  - key: c\n    apns: {team_id: TEAM123456}\n")
        #expect(SettingsChange(from: old, to: new, in: .worker).isEmpty)
    }

    @Test func `the cap of the delivery rate changes while a worker runs`() throws {
        let old = "apps:\n  - key: a\n"
        let new = "delivery: {max_per_second: 5}\napps:\n  - key: a\n    delivery: {max_per_second_push: 2}\n"
        let worker = try change(.worker, old, new)
        #expect(worker.applied == ["delivery.max_per_second", "a: delivery.max_per_second_push"])
        #expect(worker.needsRestart.isEmpty)
        #expect(try change(.gateway, old, new).isEmpty)
    }

    @Test func `the quota of tags has a default, and changes while a gateway runs`() throws {
        #expect(try load().quotas[.tags] == 1_000_000)
        let new = "limits: {tags: 5}\n"
        #expect(try load(file: new).quotas[.tags] == 5)
        #expect(try load(file: "limits: {tags: 0}\n").quotas[.tags] == 0)
        let gateway = try change(.gateway, oneApp, new + oneApp)
        #expect(gateway.applied == ["limits.tags"] && gateway.needsRestart.isEmpty)
        #expect(gateway.access.isEmpty)
        #expect(try change(.worker, oneApp, new + oneApp).isEmpty)
    }

    @Test func `a new app has its events after a restart`() throws {
        let head = "events: {keep: 1000}\n"
        let gateway = try change(.gateway, head + "apps:\n  - key: a\n", head + "apps:\n  - key: a\n  - key: c\n")
        #expect(gateway.applied == ["apps: c is new"])
        #expect(gateway.needsRestart == ["c: events"])
    }

    @Test func `credentials of the file change while a gateway runs`() throws {
        func file(_ scopes: String) -> String {
            oneApp + "    credentials:\n      - id: feed\n        scopes: \(scopes)\n        secret_file: feed.secret\n"
        }
        let first = try change(.gateway, oneApp, file("read"))
        #expect(first.applied == ["shop: credentials"] && first.access.map(\.rawValue) == ["shop"])
        #expect(try change(.gateway, file("read"), file("read, publish")).applied == ["shop: credentials"])
        #expect(try change(.worker, oneApp, file("read")).isEmpty)
        let kept = try load(file: file("read")).reloaded(over: try load(file: oneApp), in: .gateway)
        #expect(SettingsChange(from: kept, to: try load(file: file("read")), in: .gateway).isEmpty)
    }

    @Test func `what needs a restart is named at every reload until it has one`() throws {
        let old = try load(file: "worker: {lanes: 1}\napps:\n  - key: a\n")
        let new = try load(file: "worker: {lanes: 2}\napps:\n  - key: a\n  - key: b\n")
        let kept = new.reloaded(over: old, in: .worker)
        let again = SettingsChange(from: kept, to: new, in: .worker)
        #expect(again.needsRestart == ["worker.lanes", "apps: b is new"] && again.applied.isEmpty)
        let gateway = SettingsChange(from: new.reloaded(over: old, in: .gateway), to: new, in: .gateway)
        #expect(gateway.isEmpty, "\(gateway)")
    }

    @Test func `what needs a restart keeps its value, in the process too`() throws {
        let old = try load(file: "gateway: {port: 1}\n" + oneApp)
        let new = try load(
            file: "gateway: {port: 2, max_body: 8K}\nmonitor: {port: 3}\npushes: {most: 7}\npacing: {min_interval: 2}\n"
                + oneApp)
        let gateway = new.reloaded(over: old, in: .gateway)
        #expect(gateway.gateway.port == 1 && gateway.gateway.maximumBodyBytes == 8_192)
        #expect(!gateway.gateway.hasOwnMonitor && gateway.worker.mostPushes == 10_000_000)
        #expect(gateway.gateway.handing?.minInterval == .seconds(2))
        let worker = new.reloaded(over: old, in: .worker)
        #expect(worker.worker.mostPushes == 7 && worker.gateway.maximumBodyBytes == 1 << 20)
    }
}

/// The keys of APNs.
@Suite struct APNsKeySettingsTests {
    private func app(_ apns: String) throws -> AppSettings {
        try #require(try load(file: "apps:\n  - key: shop\n    apns: {team_id: T, \(apns)}\n").apps.first)
    }

    @Test func `one key is for all environments`() throws {
        let app = try app("key_id: K1, key_file: k1.p8, environment: both")
        #expect(app.keyPairs == [AppField.firstKey] && app.otherKeyPairs == app.keyPairs)
        #expect(app[.keyFile] == "config/k1.p8")
    }

    @Test func `the sandbox has a key of its own, and production a second one`() throws {
        let app = try app(
            "key_id: K1, key_file: k1.p8, next_key_id: K2, next_key_file: k2.p8, environment: both, "
                + "sandbox_key_id: S1, sandbox_key_file: s1.p8")
        #expect(app.keyPairs == [AppField.firstKey, AppField.nextKey])
        #expect(app.otherKeyPairs == [AppField.sandboxKey] && app.allKeyPairs.count == 3)
    }

    @Test(arguments: [
        ("key_id: K1, key_file: a, next_key_id: K2", "next_key_file is not set"),
        ("next_key_id: K2, next_key_file: a", "apns.key_id is not set"),
        ("key_id: K1, key_file: a, environment: both, sandbox_key_file: b", "sandbox_key_id is not set"),
        ("key_id: K1, key_file: a, sandbox_key_id: K2, sandbox_key_file: b", "it is for apns.environment both"),
        ("key_id: 'K 1', key_file: a", "letters and digits"),
    ])
    func `half of a key is refused, and so is a key without a use`(_ apns: String, _ reason: String) throws {
        #expect(refusal(file: "apps:\n  - key: shop\n    apns: {team_id: T, \(apns)}\n").contains(reason))
    }
}
