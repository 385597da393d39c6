import LiveActivity
import Logging
import Redis
import Settings
import Synchronization
import TestSupport
import Testing
import Threads

@testable import Commands
@testable import Fanout
@testable import Store

/// The parts of features in a reload of a worker.
@Suite struct WorkerPartTests {
    private struct Unreadable: Error {}

    @Test func `a part that cannot read its files leaves the worker and the other parts as they were`() throws {
        let used = Mutex<[String]>([])
        let isReadable = Mutex(false)
        func part(_ name: String) -> WorkerPart {
            WorkerPart { settings in
                if name == "second", !isReadable.withLock({ $0 }) { throw Unreadable() }
                return { used.withLock { $0.append(name) } }
            }
        }
        let client = RedisClient(url: RedisURL(), scripts: Store.scripts, logger: .quiet)
        let worker = Worker(store: Store(redis: client), apps: [], options: WorkerOptions(), logger: .quiet)
        let reload = WorkerReload(keys: [:], parts: [part("first"), part("second")], worker: worker)
        let settings = try Settings.load(SettingsInput(flags: ["pacing.min_interval": "7"], environment: [:]))
        #expect(throws: Unreadable.self) { try reload.apply(settings) }
        #expect(used.withLock(\.self).isEmpty && worker.options.current.minInterval != .seconds(7))
        isReadable.withLock { $0 = true }
        try reload.apply(settings)
        #expect(used.withLock(\.self) == ["first", "second"] && worker.options.current.minInterval == .seconds(7))
    }
}
