import Foundation
import Synchronization
import Testing

@testable import LamplighterKit

/// The token of a channel, between the app's backend and the requests.
@Suite struct DeviceTokensTests {
    private struct Offline: Error {}

    /// A backend that answers once all callers of a launch have asked for the token.
    private final class Backend: Sendable {
        private let state = Mutex((callers: 0, asked: 0))
        var asked: Int { state.withLock { $0.asked } }

        func arrive() { state.withLock { $0.callers += 1 } }

        func answer(to callers: Int, _ error: (any Error)?) async throws -> ChannelAccess {
            state.withLock { $0.asked += 1 }
            while state.withLock({ $0.callers < callers }) { await Task.yield() }
            // The last one has arrived, and enters the actor.
            for _ in 0..<100 { await Task.yield() }
            if let error { throw error }
            return .token("t")
        }
    }

    private func launch(_ callers: Int, _ backend: Backend, error: (any Error)? = nil) async -> [String] {
        let tokens = DeviceTokens(
            clock: FakeClock().clock, ask: { _ in try await backend.answer(to: callers, error) },
            exchange: { _, _ in (500, Data()) }, attest: { _ in "" })
        return await withTaskGroup(of: String.self) { group in
            for _ in 0..<callers {
                group.addTask {
                    backend.arrive()
                    do {
                        let (token, isNew) = try await tokens.token(for: "c")
                        return isNew ? token : "held"
                    } catch { return "\(error)" }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `callers at one launch share one call of the backend`() async {
        let backend = Backend()
        let tokens = await launch(20, backend)
        #expect(backend.asked == 1 && tokens == Array(repeating: "t", count: 20))
    }

    @Test func `an error of the backend is told to all of them, as its own`() async {
        let backend = Backend()
        let texts = await launch(20, backend, error: Offline())
        #expect(backend.asked == 1 && Set(texts).count == 1)
        #expect(
            texts[0] == "your app's backend gave no token, and the gateway was not asked: Offline(). "
                + "Look at the closure of Lamplighter(url:appKey:), and at the backend's call of /api/auth/device")
    }

    @Test func `a signature that the gateway refuses is the backend's`() async {
        let tokens = DeviceTokens(
            clock: FakeClock().clock,
            ask: { _ in .signature(nonce: "n", timestamp: "2026-11-21T18:00:00", signature: "x") },
            exchange: { _, _ in (401, Data(#"{"ok":false,"error":"no","error_code":40101}"#.utf8)) },
            attest: { _ in "" })
        let error = await #expect(throws: NoToken.self) { try await tokens.token(for: "c") }
        #expect(
            error?.description == "the gateway answered 401 to the signature of your app's backend. "
                + "Look at the backend's app key, app secret and clock")
    }

    @Test(arguments: ["<html></html>", #"{"status":"maintenance"}"#, #"{"ok":false,"token":"t"}"#])
    func `a page that answers in place of the gateway is no token`(_ page: String) async {
        let tokens = DeviceTokens(
            clock: FakeClock().clock,
            ask: { _ in .signature(nonce: "n", timestamp: "2026-11-21T18:00:00", signature: "x") },
            exchange: { _, _ in (200, Data(page.utf8)) }, attest: { _ in "" })
        let error = await #expect(throws: NoToken.self) { try await tokens.token(for: "c") }
        #expect(
            error?.description == "something before the gateway answered 200 to the signature of your app's backend")
    }

    @Test func `a call for the last channel ends without harm to that of the next`() async throws {
        let state = Mutex((asked: [String: Int](), open: Set<String>()))
        let tokens = DeviceTokens(
            clock: FakeClock().clock,
            ask: { channel in
                state.withLock { $0.asked[channel, default: 0] += 1 }
                while !state.withLock({ $0.open.contains(channel) }) { await Task.yield() }
                return .token(channel)
            }, exchange: { _, _ in (500, Data()) }, attest: { _ in "" })
        func begin(_ channel: String) async -> Task<String, any Error> {
            let before = state.withLock { $0.asked[channel] ?? 0 }
            let task = Task { try await tokens.token(for: channel).0 }
            if before == 0 { while state.withLock({ $0.asked[channel] == nil }) { await Task.yield() } }
            return task
        }
        let (last, next) = (await begin("last"), await begin("next"))
        state.withLock { _ = $0.open.insert("last") }
        #expect(try await last.value == "last")
        let second = await begin("next")
        for _ in 0..<100 { await Task.yield() }
        state.withLock { _ = $0.open.insert("next") }
        #expect(try await next.value == "next")
        #expect(try await second.value == "next")
        #expect(state.withLock { $0.asked } == ["last": 1, "next": 1])
    }

    @Test func `the backend is asked again after an error`() async throws {
        let asked = Mutex(0)
        let tokens = DeviceTokens(
            clock: FakeClock().clock,
            ask: { _ in
                let isFirst = asked.withLock { count in
                    count += 1
                    return count == 1
                }
                if isFirst { throw Offline() }
                return .token("t")
            }, exchange: { _, _ in (500, Data()) }, attest: { _ in "" })
        await #expect(throws: NoToken.self) { try await tokens.token(for: "c") }
        let (new, held) = (try await tokens.token(for: "c"), try await tokens.token(for: "c"))
        #expect(new == ("t", true) && held == ("t", false))
    }
}
