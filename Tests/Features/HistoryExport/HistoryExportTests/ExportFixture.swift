import Foundation
import Gzip
import LiveActivity
import Redis
import Store
import Synchronization
import TestSupport

@testable import HistoryExport

/// A store whose time is what the test says, and a directory.
final class ExportFixture: Sendable {
    static let hour: Int64 = 3_600_000
    /// 2026-11-21T18:00:00
    static let start: Int64 = 1_795_284_000_000

    let server: RedisServer
    let store: Store
    let app = try! AppKey("shop")
    let path: String
    private let time: Mutex<Int64>

    var now: Int64 {
        get { time.withLock(\.self) }
        set { time.withLock { $0 = newValue } }
    }

    init() async throws {
        server = try await RedisServer.start()
        path = try temporaryDirectory()
        let clock = Clock()
        time = Mutex(Self.start)
        // The time before the first measurement is the machine's, and no test measures.
        store = Store(
            redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet),
            machine: { clock.fixture.withLock { $0?.now } ?? Self.start })
        clock.fixture.withLock { $0 = self }
        try await store.claimFormat()
    }

    private final class Clock: Sendable { let fixture = Mutex<ExportFixture?>(nil) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Accepts a push some hours before `start`, and cancels it unless it is to stay open.
    func push(
        _ age: Double, _ name: String = "match-1", id: PushID? = nil, app: AppKey? = nil, isOpen: Bool = false,
        audience: Audience = .all, payload: String = #"{"aps":{"timestamp":0000000000,"event":"update"}}"#
    ) async throws -> PushID {
        let at = Self.start - Int64((age * Double(Self.hour)).rounded())
        // By default a newer push of the name supersedes those that wait. Here each has an end of its own.
        var publish = Publish(
            name: try ActivityName(name), event: .update, audience: audience,
            options: PublishOptions(conflate: false))
        publish.publisher = Publisher(credential: "master", address: "192.0.2.7")
        let acceptance = try await store.pushes.accept(
            app ?? self.app, publish, id: id ?? .ordered(at: at, index: Int.random(in: 0..<200)),
            payload: Array(payload.utf8), timestampOffset: 20, now: at)
        guard case .accepted(let id, _, _) = acceptance else { throw NeverHappened(description: "\(acceptance)") }
        if !isOpen { _ = try await store.pushes.cancel(app ?? self.app, id, now: at + 1_500) }
        return id
    }

    func export(
        content: Bool = false, most: Int = 50_000,
        reached: @escaping @Sendable (ExportDirectory.Step) throws -> Void = { _ in }
    ) async throws -> ExportReport {
        var exporter = Exporter(store, withContent: content)
        (exporter.pushesOfFile, exporter.reached) = (most, reached)
        let directory = try ExportDirectory(path, apps: [app])
        defer { directory.unlock() }
        return try await exporter.run(app, in: directory)
    }

    /// The complete files, by their paths in the directory, and their lines.
    func files() throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for case let file as String in FileManager.default.enumerator(atPath: path) ?? .init()
        where file.hasSuffix(".ndjson.gz") {
            var reader = GzipReader()
            let data = try Data(contentsOf: URL(fileURLWithPath: path + "/" + file))
            let text = String(decoding: try reader.add(Array(data)), as: UTF8.self)
            found[file] = text.split(separator: "\n").map(String.init)
        }
        return found
    }

    /// The ids of all lines, sorted.
    func exported() throws -> [String] {
        try files().values.flatMap(\.self).compactMap { line in
            line.firstMatch(of: /^\{"push_id":"([^"]+)"/).map { String($0.1) }
        }.sorted()
    }

    func parts() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path + "/_lamplighter").filter { $0.hasSuffix(".part") }
    }
}
