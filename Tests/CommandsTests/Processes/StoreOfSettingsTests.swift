import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Settings
@testable import Store

/// The store that a process builds from its settings (`Boot`).
@Suite struct StoreOfSettingsTests {
    private static let flags = [
        "redis.prefix": "zz", "redis.wait_replicas": "2", "channels.expire_after": "20",
        "pushes.expire_after": "200000",
        "limits.names": "23", "limits.channels": "24",
        "events.keep": "25", "actions.expire_after": "4000", "actions.keep": "26", "worker.apps": "shop",
    ]

    private func store(answersPublishers: Bool) throws -> Store {
        let settings = try Settings.load(
            SettingsInput(flags: Self.flags, environment: [AppField.key.environmentName: "shop"]))
        let client = RedisClient(url: RedisURL(), scripts: Store.scripts, logger: .quiet)
        return Store(
            answersPublishers ? settings : try settings.ofWorker(), redis: client, answersPublishers: answersPublishers)
    }

    @Test func `a gateway and a worker have the same store from the same settings`() throws {
        let (gateway, worker) = (try store(answersPublishers: true), try store(answersPublishers: false))
        let shop = try AppKey("shop")
        for store in [gateway, worker] {
            #expect(store.keys.prefix == "zz" && store.keys.retention == 200_000_000)
            #expect(store.channels.life == .seconds(20), "a worker forgets channels too")
            for limits in [store.registry.quotas.limits, store.channels.quotas.limits] {
                #expect(limits[.names] == 23 && limits[.channels] == 24)
            }
            #expect(store.events.isOn(shop) && store.actions.policy == ActionPolicy(keep: 26, life: .seconds(4_000)))
        }
        // Only publishers wait for replicas.
        #expect(gateway.pushes.replicas != nil && gateway.schedules.replicas != nil)
        #expect(worker.pushes.replicas == nil && worker.schedules.replicas == nil)
    }

    @Test func `a reload and a restore limit the same store in other ways`() throws {
        let store = try store(answersPublishers: true)
        let less = try Settings.load(SettingsInput(flags: ["limits.names": "3"]))
        let limited = store.limited(quotas: less.quotas)
        for limits in [limited.registry.quotas.limits, limited.channels.quotas.limits] { #expect(limits[.names] == 3) }
        #expect(limited.channels.life == .seconds(20))
        let restoring = store.limited(quotas: [:])
        #expect(restoring.registry.quotas.limits.isEmpty && restoring.channels.quotas.limits.isEmpty)
    }
}
