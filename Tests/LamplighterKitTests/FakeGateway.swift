import Foundation
import Synchronization

@testable import LamplighterKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Answers requests as a test says, and notes them. What a gateway itself does is tested with one (`KitStoryTests`).
final class FakeGateway: Sendable {
    struct Request: Hashable, Sendable {
        var path: String
        var token: String
        var body: String
    }

    private struct State {
        var requests: [Request] = []
        /// The answers to come. After these each request gets a 200.
        var answers: [(status: Int, fields: [String: String], body: String)?] = []
    }
    private let state = Mutex(State())

    var requests: [Request] { state.withLock { $0.requests } }

    /// Nil: the request gets no answer.
    func answer(_ answers: (status: Int, fields: [String: String], body: String)?...) {
        state.withLock { $0.answers += answers }
    }

    @Sendable func transport(_ request: URLRequest) throws -> (Data, HTTPURLResponse) {
        let url = request.url!
        let noted = Request(
            path: url.path, token: request.value(forHTTPHeaderField: "Authorization") ?? "",
            body: String(decoding: request.httpBody ?? Data(), as: UTF8.self))
        let answer = state.withLock { state -> (status: Int, fields: [String: String], body: String)? in
            state.requests.append(noted)
            return state.answers.isEmpty ? (200, [:], #"{"ok":true}"#) : state.answers.removeFirst()
        }
        guard let answer else { throw URLError(.notConnectedToInternet) }
        let response = HTTPURLResponse(
            url: url, statusCode: answer.status, httpVersion: nil, headerFields: answer.fields)!
        return (Data(answer.body.utf8), response)
    }

    /// A kit whose pauses take no time.
    func kit(
        _ directory: String, clock: FakeClock = FakeClock(), owner: String = "app",
        tell: @escaping @Sendable (LamplighterError) -> Void = { _ in },
        isApp: Bool = true, notices: NotificationCenter = NotificationCenter(),
        access: @escaping @Sendable (String) async throws -> ChannelAccess = { _ in .token("t") }
    ) -> Lamplighter {
        let gateway = Gateway(
            url: URL(string: "https://push.example.com")!, appKey: "shop", clock: clock.clock,
            transport: transport, authorize: access)
        let directory = URL(fileURLWithPath: directory)
        return Lamplighter(
            gateway, directory: directory, store: FileInstallStore(directory: directory), clock: clock.clock,
            owner: owner, isApp: isApp, notices: notices, tell: tell)
    }
}

/// A clock that a pause moves on at once.
final class FakeClock: Sendable {
    private struct State {
        var now: Int64 = 1_795_284_000_000
        var uptime = 0.0
        var pauses: [Double] = []
        var interrupts: [@Sendable () async -> Void] = []
    }
    private let state = Mutex(State())

    var pauses: [Double] { state.withLock { $0.pauses } }

    /// Calls this at the beginning of the first pauses. One that is cancelled then takes no time.
    func interrupt(first count: Int, _ body: @escaping @Sendable () async -> Void) {
        state.withLock { $0.interrupts = Array(repeating: body, count: count) }
    }

    func advance(_ milliseconds: Int64) { state.withLock { $0.now += milliseconds } }

    var clock: KitClock {
        KitClock(
            now: { [self] in state.withLock { $0.now } }, uptime: { [self] in state.withLock { $0.uptime } },
            sleep: { [self] seconds in
                // The hourly look at start tokens would turn without end.
                guard seconds < 3_600 else {
                    try? await Task.sleep(for: .seconds(86_400))
                    return
                }
                let interrupt = state.withLock { state in
                    state.pauses.append(seconds)
                    return state.interrupts.isEmpty ? nil : state.interrupts.removeFirst()
                }
                if let interrupt {
                    await interrupt()
                    if Task.isCancelled { return }
                }
                state.withLock { state in
                    state.now += Int64(seconds * 1_000)
                    state.uptime += seconds
                }
                await Task.yield()
            }, random: { $0.upperBound })
    }
}
