import Foundation
import LiveActivity
import Redis
import Testing

@testable import Store

/// Measures the costs of the registry for Benchmarks/measurements.md. It runs only on request:
///
///     LAMPLIGHTER_MEASURE=1 swift test -c release -Xswiftc -enable-testing --filter RegistryMeasurements
///
/// It uses UUID channels, tokens of 80 bytes, a unix socket and the limits of config/redis.conf. Server CPU is the user
/// and system time of redis-server from INFO. Client CPU is that of this process.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["LAMPLIGHTER_MEASURE"] != nil))
struct RegistryMeasurements {
    private func info(_ fixture: RegistryFixture, _ section: String, _ fields: [String]) async throws -> Double {
        let text = try await fixture.command("INFO", .string(section)).string()
        return text.split(whereSeparator: \.isNewline).reduce(0) { sum, line in
            let parts = line.split(separator: ":")
            guard parts.count == 2, fields.contains(String(parts[0])) else { return sum }
            return sum + (Double(parts[1]) ?? 0)
        }
    }

    /// The used memory without the buffers of our own connections.
    private func memory(_ fixture: RegistryFixture) async throws -> Double {
        try await info(fixture, "memory", ["used_memory"]) - info(fixture, "memory", ["mem_clients_normal"])
    }

    private func serverCPU(_ fixture: RegistryFixture) async throws -> Double {
        try await info(fixture, "cpu", ["used_cpu_sys", "used_cpu_user"]) * 1e6
    }

    private func clientCPU() -> Double { Double(clock()) / Double(CLOCKS_PER_SEC) * 1e6 }

    private func report(_ what: String, per count: Int, server: Double, client: Double, wall: Duration) {
        func each(_ value: Double) -> String { String(format: "%6.2f", value / Double(count)) }
        let seconds = Double(wall.components.attoseconds) / 1e18 + Double(wall.components.seconds)
        let line = what.padding(toLength: 44, withPad: " ", startingAt: 0)
        print("\(line) server \(each(server)) µs  client \(each(client)) µs  wall \(each(seconds * 1e6)) µs")
    }

    private func measure(
        _ what: String, _ fixture: RegistryFixture, per count: Int, _ body: () async throws -> Void
    ) async throws {
        let (server, client) = (try await serverCPU(fixture), clientCPU())
        let wall = try await ContinuousClock().measure { try await body() }
        report(
            what, per: count, server: try await serverCPU(fixture) - server, client: clientCPU() - client, wall: wall)
    }

    private func registrations(_ count: Int, _ fixture: RegistryFixture) -> [Registration] {
        (0..<count).map { Registration(channel: .random(), token: .test($0), registeredAt: fixture.time.now) }
    }

    @Test func `cost of each operation`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, name) = (fixture.registry, fixture.app, fixture.name)
            _ = try await registry.track(app, .activity(ActivityName("warm")), registrations(1_000, fixture))
            let small = registrations(1_000, fixture)
            let names = try (0..<50).map { try ActivityName("small-\($0)") }
            try await measure("insert, 0 to 1,000 in a name", fixture, per: 50_000) {
                for name in names { _ = try await registry.track(app, .activity(name), small) }
            }
            let single = registrations(2_000, fixture)
            try await measure("insert, one a round trip", fixture, per: single.count) {
                for registration in single { _ = try await registry.track(app, .activity(names[0]), [registration]) }
            }

            var all = registrations(90_000, fixture)
            let before = try await memory(fixture)
            try await measure("insert, 0 to 90,000", fixture, per: all.count) {
                for start in stride(from: 0, to: all.count, by: 5_000) {
                    _ = try await registry.track(app, .activity(name), Array(all[start..<start + 5_000]))
                }
            }
            let more = registrations(10_000, fixture)
            try await measure("insert, 90,000 to 100,000", fixture, per: more.count) {
                _ = try await registry.track(app, .activity(name), more)
            }
            all += more
            let bytes = (try await memory(fixture) - before) / Double(all.count)
            let buckets = try await fixture.buckets()
            print("bytes an entry at \(all.count): \(String(format: "%.1f", bytes)); \(all.count / buckets) a bucket")

            let again = all.prefix(20_000).map {
                Registration(channel: $0.channel, token: .test(7), registeredAt: fixture.time.now)
            }
            try await measure("rotation at 100,000", fixture, per: again.count) {
                _ = try await registry.track(app, .activity(name), again)
            }
            for limit in [1_000, 5_000] {
                try await measure("full read, pages of \(limit), ten times", fixture, per: 10 * all.count) {
                    for _ in 0..<10 {
                        var position = ScanPosition.start
                        var count = 0
                        while position < .end {
                            let (page, next) = try await registry.tokens.page(
                                app, .activity(name), from: position, to: .end, limit: limit)
                            count += page.count
                            position = next
                        }
                        #expect(count == all.count)
                    }
                }
            }
            let (page, _) = try await registry.tokens.page(app, .activity(name), from: .start, to: .end, limit: 1_000)
            try await fixture.channels.tag(app, all.prefix(50_000).map(\.channel), tag)
            try await measure("filter by one tag of 50,000 members", fixture, per: 100 * page.count) {
                for _ in 0..<100 {
                    _ = try await fixture.channels.filter(app, page, .tag("t", group: "device"))
                }
            }
            let prunes = again.map { TokenRemoval(channel: $0.channel.stored, token: $0.token.bytes, deadSince: nil) }
            try await measure("prune at 100,000", fixture, per: prunes.count) {
                let results = try await registry.prune(app, .activity(name), prunes)
                #expect(results.allSatisfy { $0 == .pruned })
            }
        }
    }

    /// Measures the bytes of a name that one channel follows.
    @Test func `memory of small names`() async throws {
        try await RegistryFixture.run { fixture in
            let count = 20_000
            let before = try await memory(fixture)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for part in 0..<50 {
                    group.addTask {
                        for number in 0..<count / 50 {
                            _ = try await fixture.registry.track(
                                fixture.app, .activity(ActivityName("order-\(part)-\(number)")),
                                [Registration(channel: .random(), token: .test(number), registeredAt: fixture.time.now)]
                            )
                        }
                    }
                }
                try await group.waitForAll()
            }
            let key = fixture.keys.root(fixture.keys.tag(fixture.app, try ActivityName("order-1-1")))
            let root = try await fixture.command("MEMORY", "USAGE", .key(key)).integer()
            let bytes = (try await memory(fixture) - before) / Double(count)
            print(
                "bytes a name of one token: \(String(format: "%.0f", bytes)), its place in the index included; key \(root)"
            )
        }
    }

    private var tag: TagChange {
        var change = TagChange()
        change.add = ["device": ["t"]]
        return change
    }
}
