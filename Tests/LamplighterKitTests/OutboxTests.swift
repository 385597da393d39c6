import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LamplighterKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct OutboxTests {
    private let directory: TemporaryDirectory
    private let gateway = FakeGateway()
    private let clock = FakeClock()
    private let problems = Problems()
    private var path: String { directory.path("kit") }

    final class Problems: Sendable {
        private let all = Mutex<[LamplighterError]>([])
        var kinds: [LamplighterError.Kind] { all.withLock { $0.map(\.kind) } }
        var texts: [String] { all.withLock { $0.map(\.description) } }
        func note(_ problem: LamplighterError) { all.withLock { $0.append(problem) } }
    }

    init() throws { directory = try TemporaryDirectory() }

    private func kit(
        owner: String = "app", access: @escaping @Sendable (String) async throws -> ChannelAccess = { _ in .token("t") }
    ) -> Lamplighter {
        gateway.kit(path, clock: clock, owner: owner, tell: { [problems] in problems.note($0) }, access: access)
    }

    private static func token(_ number: Int) -> Data {
        Data(withUnsafeBytes(of: UInt16(number).bigEndian) { Array($0) })
    }

    private var paths: [String] {
        gateway.requests.map { $0.path.split(separator: "/").dropFirst().prefix(2).joined(separator: "/") }
    }

    @Test func `reports go out in order, and wait for an answer for ever`() async throws {
        for _ in 0..<20 { gateway.answer(nil) }
        let kit = kit()
        await kit.outbox.start("A", token: Self.token(1))
        await kit.outbox.start("B", token: Self.token(2))
        await kit.outbox.sent()
        #expect(paths == Array(repeating: "start-tokens/A", count: 21) + ["start-tokens/B"])
        #expect(clock.pauses.prefix(3) == [2, 4, 8] && clock.pauses.last == Backoff.longest)
        #expect(problems.kinds == [.delayed], "told once")
    }

    @Test func `a backend that gives no token is named, and asked again`() async throws {
        struct Down: Error {}
        let asked = Mutex(0)
        let kit = kit { _ in
            let count = asked.withLock { count in
                count += 1
                return count
            }
            if count < 3 { throw Down() }
            return .token("t")
        }
        await kit.outbox.start("A", token: Self.token(1))
        await kit.outbox.sent()
        #expect(paths == ["start-tokens/A"] && problems.kinds == [.delayed])
        #expect(problems.texts[0].hasPrefix("your app's backend gave no token"))
    }

    @Test func `one report that fails again and again holds up no other`() async throws {
        let failure = (status: 500, fields: [:] as [String: String], body: #"{"error_code":50000}"#)
        gateway.answer(failure, (200, [:], #"{"ok":true}"#), failure)
        let kit = kit()
        await kit.outbox.start("A", token: Self.token(1))
        await kit.outbox.start("B", token: Self.token(2))
        await kit.outbox.sent()
        #expect(paths == ["start-tokens/A", "start-tokens/B", "start-tokens/A", "start-tokens/A"])
    }

    @Test func `the kit waits as long as the gateway asks`() async throws {
        gateway.answer((503, ["Retry-After": "60"], #"{"error_code":50300}"#), (429, ["Retry-After": "9"], ""))
        let kit = kit()
        await kit.outbox.start("A", token: Self.token(1))
        await kit.outbox.sent()
        #expect(clock.pauses == [90, 13.5])
    }

    @Test func `a change of the network shortens no pause that the gateway asked for`() async throws {
        gateway.answer(nil, (503, ["Retry-After": "600"], #"{"error_code":50300}"#))
        let kit = kit()
        let outbox = kit.outbox
        // The phone comes online in both pauses.
        clock.interrupt(first: 2) { await outbox.retryNow() }
        await kit.outbox.start("A", token: Self.token(1))
        await kit.outbox.sent()
        #expect(gateway.requests.count == 3)
        #expect(clock.pauses == [2, 900, 900], "the second goes on")
    }

    @Test func `a page that is no answer of the gateway ends no report, receipt or removal`() async throws {
        for _ in 0..<3 { gateway.answer((200, [:], "<html>We will be back soon</html>")) }
        let kit = kit()
        await kit.outbox.start("A", token: Self.token(1))
        await kit.outbox.sent()
        #expect(gateway.requests.count == 4 && problems.kinds == [.delayed])
        #expect(problems.texts == ["200 without the gateway's words"])
        gateway.answer((200, [:], #"{"status":"maintenance"}"#))
        await kit.outbox.receive(Receipt(push: "p", event: .shown))
        await kit.outbox.sent()
        #expect(paths.suffix(2) == ["receipts", "receipts"])
        gateway.answer((200, [:], #"{"ok":true}"#), (200, [:], #"{"ok":false}"#))
        await kit.outbox.follow("E1", name: "n", of: "A", token: Self.token(2), hasFrequentPushes: true)
        await kit.outbox.sent()
        await kit.outbox.unfollow("E1")
        await kit.outbox.sent()
        #expect(paths.suffix(3) == ["activities/n", "channels/sdk", "channels/sdk"])
    }

    @Test func `a redirect is no answer, and its page gets no token`() async throws {
        let (listener, port) = try listeningSocket()
        let lines = Mutex<[String]>([])
        Thread {
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { return }
                defer { close(socket) }
                var buffer = [UInt8](repeating: 0, count: 4_096)
                let text = String(decoding: buffer[..<max(0, recv(socket, &buffer, buffer.count, 0))], as: UTF8.self)
                lines.withLock { $0.append(String(text.prefix { !$0.isNewline })) }
                let answer =
                    "HTTP/1.1 302 Found\r\nLocation: /portal\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                send(socket, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
            }
        }.start()
        defer {
            shutdown(listener, Int32(SHUT_RDWR))
            close(listener)
        }
        var request = URLRequest(url: URL(string: "http://127.0.0.1:\(port)/api")!)
        request.httpMethod = "PUT"
        let (_, answer) = try await Gateway.session()(request)
        #expect(answer.statusCode == 302 && lines.withLock { $0 } == ["PUT /api HTTP/1.1"])
    }

    @Test func `a question for a broadcast channel is answered by the gateway alone`() async throws {
        let kit = kit()
        for page in ["<html></html>", #"{"ok":true}"#] {
            gateway.answer((200, [:], page))
            let error = await #expect(throws: LamplighterError.self) { try await kit.broadcastChannel(of: "n") }
            #expect(error?.kind == .delayed)
        }
        gateway.answer((403, [:], #"{"ok":false,"error":"no","error_code":40301}"#))
        let error = await #expect(throws: LamplighterError.self) { try await kit.broadcastChannel(of: "n") }
        #expect(error?.kind == .refused)
        gateway.answer((404, [:], #"{"ok":false,"error":"none","error_code":40401}"#))
        #expect(try await kit.broadcastChannel(of: "n") == nil)
    }

    @Test func `an app that gets an app group keeps its channel and its reports`() async throws {
        let (own, shared) = (directory.path("own"), directory.path("shared"))
        gateway.answer(nil)
        _ = try OutboxFile(directory: URL(fileURLWithPath: own)).change(
            install: FileInstallStore(directory: URL(fileURLWithPath: own)).idOrStore("first")
        ) { $0.start("A", token: "aa", now: 1_795_284_000_000) }
        // An extension of the new version ran before the app.
        _ = try OutboxFile(directory: URL(fileURLWithPath: shared)).change(
            install: FileInstallStore(directory: URL(fileURLWithPath: shared)).idOrStore("second")
        ) { _ in }
        for _ in 0..<2 {
            OutboxFile.move(from: URL(fileURLWithPath: own), to: URL(fileURLWithPath: shared))
            let store = SharedInstallStore(
                own: FileInstallStore(directory: URL(fileURLWithPath: own)),
                shared: FileInstallStore(directory: URL(fileURLWithPath: shared)))
            let id = try store.idOrStore("third")
            let state = try OutboxFile(directory: URL(fileURLWithPath: shared)).change(install: id) { _ in }
            #expect(id == "first" && state.entries.count == 1 && state.starts["A"]?.value == "aa")
        }
        #expect(try FileInstallStore(directory: URL(fileURLWithPath: shared)).stored() == "first")
    }

    @Test func `a refusal stops the report and tells the developer`() async throws {
        gateway.answer((400, [:], #"{"ok":false,"error":"token: must be hex","error_code":40000}"#))
        let kit = kit()
        await kit.outbox.start("A", token: Self.token(1))
        await kit.outbox.start("B", token: Self.token(2))
        await kit.outbox.sent()
        #expect(paths == ["start-tokens/A", "start-tokens/B"] && problems.kinds == [.refused])
    }

    @Test func `a token that is over is replaced once`() async throws {
        let asked = Mutex(0)
        gateway.answer((401, [:], #"{"error_code":40101}"#), (200, [:], #"{"ok":true}"#))
        for _ in 0..<2 { gateway.answer((401, [:], "")) }
        let kit = kit { _ in
            let count = asked.withLock { count in
                count += 1
                return count
            }
            return .token("t\(count)")
        }
        await kit.outbox.start("A", token: Self.token(1))
        await kit.outbox.sent()
        // The first token is new, so a second one would be no better: the kit waits before it asks the backend again.
        #expect(gateway.requests.map(\.token) == ["Bearer t1", "Bearer t2"] && clock.pauses.count == 1)
        await kit.outbox.start("B", token: Self.token(2))
        await kit.outbox.sent()
        #expect(gateway.requests.dropFirst(2).map(\.token) == ["Bearer t2", "Bearer t3", "Bearer t4"])
    }

    @Test func `the backend is asked again before a token ends`() async throws {
        let claims = Data(#"{"iat":1000,"exp":4600}"#.utf8).base64EncodedString()
        let asked = Mutex(0)
        let kit = kit { _ in
            asked.withLock { $0 += 1 }
            return .token("h.\(claims).s")
        }
        for (seconds, count) in [(0.0, 1), (3_500, 1), (60, 2)] {
            await clock.clock.sleep(min(seconds, 3_599))
            clock.advance(-OutboxState.day)
            await kit.outbox.start("A", token: Self.token(Int(seconds)))
            await kit.outbox.sent()
            #expect(asked.withLock { $0 } == count, "after \(seconds) s more")
        }
    }

    @Test func `a relaunch sends what was left, and a restored backup nothing of the other phone`() async throws {
        for _ in 0..<3 { gateway.answer(nil) }
        let state = try OutboxFile(directory: URL(fileURLWithPath: path)).change(
            install: FileInstallStore(directory: URL(fileURLWithPath: path)).idOrStore("here")
        ) { $0.start("A", token: "aa", now: 1_795_284_000_000) }
        #expect(state.entries.count == 1)
        // A kit sends what it finds when it is made, so the second one is made later.
        let first = kit()
        await first.outbox.wake()
        await first.outbox.sent()
        #expect(gateway.requests.count == 4)
        let second = kit()
        await second.outbox.start("A", token: Data([0xaa]))
        await second.outbox.sent()
        #expect(gateway.requests.count == 4, "reported within a day")
        try FileManager.default.removeItem(atPath: path + "/install")
        let restored = kit()
        await restored.outbox.start("A", token: Data([0xaa]))
        await restored.outbox.sent()
        let channel = try await restored.installID
        #expect(gateway.requests.count == 5 && channel != "here")
    }

    @Test func `receipts go out together and once, and are off for good after a 403`() async throws {
        let file = OutboxFile(directory: URL(fileURLWithPath: path))
        _ = try file.change(install: FileInstallStore(directory: file.directory).idOrStore("here")) { state in
            for number in 0..<500 { state.receive(Receipt(push: "p\(number % 250)", event: .shown)) }
        }
        let kit = kit()
        await kit.outbox.wake()
        await kit.outbox.sent()
        #expect(gateway.requests.map { $0.body.components(separatedBy: "push_id").count - 1 } == [200, 50])
        await kit.outbox.receive(Receipt(push: "p7", event: .shown))
        await kit.outbox.sent()
        let before = gateway.requests.count
        gateway.answer((403, [:], #"{"error":"off","error_code":40300}"#))
        for number in 0..<3 {
            await kit.outbox.receive(Receipt(push: "q\(number)", event: .ended))
            await kit.outbox.sent()
        }
        #expect(gateway.requests.count == before + 1 && problems.kinds.isEmpty)
    }

    @Test func `a full disk keeps reports in memory and sends them`() async throws {
        // A file where the directory should be.
        try Data().write(to: URL(fileURLWithPath: path))
        let store = FileInstallStore(directory: URL(fileURLWithPath: directory.path("id")))
        let gateway = gateway
        let outbox = Outbox(
            file: OutboxFile(directory: URL(fileURLWithPath: path)), install: Install(store),
            gateway: Gateway(
                url: URL(string: "https://push.example.com")!, appKey: "shop", clock: clock.clock,
                transport: gateway.transport
            ) { _ in .token("t") }, clock: clock.clock, owner: "app", tell: { [problems] in problems.note($0) })
        await outbox.start("A", token: Self.token(1))
        try await eventually("it is sent") { !gateway.requests.isEmpty }
        #expect(problems.kinds.first == .storage)
        try await eventually("it has tried often") { clock.pauses.count > 1_100 }
        try FileManager.default.removeItem(atPath: path)
        await outbox.sent()
        let state = try OutboxFile(directory: URL(fileURLWithPath: path)).change(install: store.idOrStore("x")) { _ in }
        #expect(state.entries.isEmpty && state.starts["A"] != nil)
    }

    @Test func `a damaged file is put aside, and the app goes on`() async throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data("{".utf8).write(to: URL(fileURLWithPath: path + "/outbox.json"))
        let kit = kit()
        await kit.outbox.start("A", token: Self.token(1))
        await kit.outbox.sent()
        #expect(gateway.requests.count == 1 && problems.kinds == [.storage])
        #expect(FileManager.default.fileExists(atPath: path + "/outbox.json.damaged"))
    }

    @Test func `ten thousand rotations leave the newest token`() async throws {
        // In memory: a disk of a busy machine takes a minute for as many writes.
        let path = "/dev/shm/lamplighter-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = OutboxFile(directory: URL(fileURLWithPath: path))
        let install = try FileInstallStore(directory: file.directory).idOrStore("here")
        var size = 0
        for number in 0..<10_000 {
            let state = try file.change(install: install) { state in
                state.follow(
                    "E0", name: "match-42", of: "T", token: "\(number)", hasFrequentPushes: true, isPending: false,
                    now: 1_795_284_000_000)
            }
            size = max(size, state.entries.count)
        }
        #expect(size == 1)
        await gateway.kit(path, clock: clock).outbox.wake()
        try await eventually("it is sent") { !gateway.requests.isEmpty }
        #expect(gateway.requests.count == 1 && gateway.requests[0].body.contains(#""token":"9999""#))
    }
}
