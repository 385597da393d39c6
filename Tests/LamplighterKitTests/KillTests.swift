import Foundation
import TestSupport
import Testing

@testable import LamplighterKit

/// Apps that are killed: nothing that a call said is kept may be lost.
@Suite struct KillTests {
    private static let probe = URL(fileURLWithPath: Program.path).deletingLastPathComponent().path + "/KitProbe"
    private static let kills = ProcessInfo.processInfo.environment["LAMPLIGHTER_KIT_KILLS"].flatMap { Int($0) }
    private let directory: TemporaryDirectory
    private var path: String { directory.path("kit") }

    init() throws { directory = try TemporaryDirectory() }

    private func arguments(_ path: String, first: Int, count: Int, types: Int) -> [String] {
        [Self.probe, path, "-", "token", "\(first)", "\(count)", "\(types)"]
    }

    /// The token of each type that is on disk.
    private static func tokens(_ path: String) throws -> [String: Int] {
        let install = try FileInstallStore(directory: URL(fileURLWithPath: path)).idOrStore("new")
        let state = try OutboxFile(directory: URL(fileURLWithPath: path)).change(
            install: install, damaged: { Issue.record($0) }
        ) { _ in }
        return state.starts.mapValues { Int($0.value, radix: 16) ?? -1 }
    }

    /// The process kills itself where a limit for the size of a file stops its write. `LAMPLIGHTER_KIT_KILLS` set: at
    /// each byte. Otherwise the test below cuts the file at each byte.
    @Test func `a kill in the middle of a write leaves the state before it`() async throws {
        _ = try await ChildProcess.run(arguments(path, first: 0, count: 1, types: 9))
        let before = try Data(contentsOf: URL(fileURLWithPath: path + "/outbox.json"))
        var kills = 0
        // The state after it has one entry more.
        for limit in stride(from: 0, to: before.count * 3, by: Self.kills == nil ? 41 : 1) {
            let child = try await ChildProcess.run(
                ["prlimit", "--fsize=\(limit)"] + arguments(path, first: 1, count: 1, types: 9),
                environment: ["KIT_PROBE_DIES": "yes"].merging(ProcessInfo.processInfo.environment) { own, _ in own })
            // The change fits, and perhaps a later one does not.
            if child.out == "1\n" { break }
            kills += 1
            #expect(child.code == 128 + SIGKILL || child.code == 128 + SIGXFSZ, "\(limit)")
            // Killed between the write and the word that it is kept. An attempt to send may be written before it.
            let kept = try Self.tokens(path)
            if kept["Type1"] == 1 { break }
            #expect(kept == ["Type0": 0], "\(limit)")
        }
        #expect(kills >= 5)
        #expect(try Self.tokens(path) == ["Type0": 0, "Type1": 1], "a torn write is in nobody's way")
    }

    @Test func `a write that ends at any byte leaves the state before it`() async throws {
        _ = try await ChildProcess.run(arguments(path, first: 0, count: 1, types: 9))
        let file = OutboxFile(directory: URL(fileURLWithPath: path))
        let (old, new) = (URL(fileURLWithPath: path + "/outbox.json"), URL(fileURLWithPath: path + "/outbox.new"))
        let before = try Data(contentsOf: old)
        _ = try await ChildProcess.run(arguments(path, first: 1, count: 1, types: 9))
        let after = try Data(contentsOf: old)
        let install = try FileInstallStore(directory: file.directory).idOrStore("new")
        for length in 0...after.count {
            try before.write(to: old)
            try after.prefix(length).write(to: new)
            #expect(try Self.tokens(path) == ["Type0": 0], "\(length)")
            _ = try file.change(install: install) { $0.start("Type2", token: "2", now: 1_795_284_000_000) }
            #expect(try Self.tokens(path) == ["Type0": 0, "Type2": 2], "\(length)")
        }
    }

    /// `LAMPLIGHTER_KIT_KILLS=1000` for as many.
    @Test func `nothing is lost when the app is killed again and again`() async throws {
        var next = 0
        for kill in 0..<(Self.kills ?? 10) {
            let app = try Program(
                arguments(path, first: next, count: 100_000, types: 40), directory: directory.path(""),
                environment: [:],
                name: "app-\(kill)")
            try await eventually("a report is kept", every: .milliseconds(2)) { app.out.contains("\n") }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...20)))
            app.signal(SIGKILL)
            _ = await app.end()
            let kept = app.out.split(separator: "\n").compactMap { Int($0) }
            // A number may be cut off by the kill, and then is a smaller one.
            let last = try #require(kept.last)
            let tokens = try Self.tokens(path)
            for number in max(0, last - 39)...last {
                let token = tokens["Type\(number % 40)"] ?? -1
                #expect(token >= number && token % 40 == number % 40, "kill \(kill): \(number) became \(token)")
            }
            next = (tokens.values.max() ?? 0) + 1
        }
    }

    @Test func `two processes share an outbox`() async throws {
        let apps = try (0..<2).map { number in
            try ChildProcess(arguments(path, first: number * 60, count: 60, types: 120))
        }
        for app in apps { await app.wait() }
        #expect(apps.map(\.code) == [0, 0])
        #expect(try Self.tokens(path).count == 120)
    }
}
