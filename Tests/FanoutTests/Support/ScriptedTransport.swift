import APNsClient
import APNsWire
import Delivery
import Foundation
import LiveActivity
import Synchronization

/// A transport that answers by rule and keeps what it was sent, for tests of the layers above the wire. Other tests
/// cover the wire with real servers.
final class ScriptedTransport: PushTransport {
    typealias Answer = @Sendable (_ token: [UInt8], _ attempt: Int) -> PushOutcome
    /// The rule may also use the label of the push. `attempt` counts the attempts of this push for the token.
    typealias AnswerByLabel = @Sendable (_ token: [UInt8], _ label: String, _ attempt: Int) -> PushOutcome

    /// One request, in the order of sending.
    struct Request: Sendable {
        var token: [UInt8]
        var label: String
        var isAccepted: Bool
        var at: ContinuousClock.Instant
    }

    private struct State {
        var requests: [Request] = []
        var attempts: [String: [[UInt8]: Int]] = [:]
        var sent: [[UInt8]: [PreparedPush]] = [:]
        var total = 0
        var pages = 0
        /// Pages with such a token are held.
        var isHeld: (@Sendable (_ token: [UInt8]) -> Bool)?
        var waiting: [(page: TokenPage, continuation: CheckedContinuation<Void, Never>)] = []

        func holds(_ page: TokenPage) -> Bool {
            guard let isHeld else { return false }
            return page.entries.indices.contains { isHeld(Array(page.token($0))) }
        }
    }
    private let state = Mutex(State())
    private let arrivals = Signal("requests were answered")
    private let holders = Signal("pages are held back")
    private let answer: Answer
    private let answerByLabel: AnswerByLabel?
    private let pause: Duration

    init(_ answer: @escaping Answer = { _, _ in .accepted }) {
        self.answer = answer
        answerByLabel = nil
        pause = .zero
    }

    /// Each page takes up to `pause`, so that other tasks can run in between.
    init(pause: Duration = .zero, byLabel answer: @escaping AnswerByLabel) {
        self.answer = { _, _ in .accepted }
        answerByLabel = answer
        self.pause = pause
    }

    var requestTimeout: Duration { .seconds(10) }
    func close() async {}

    func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        guard permission.holds else {
            return PageOutcome(all: page, .unanswered(.init(.cancelled, mayHaveBeenDelivered: false)))
        }
        // A held page counts as on the wire.
        await passGate(page)
        if pause > .zero { try? await Task.sleep(for: pause * Double.random(in: 0..<1)) }
        var outcome = PageOutcome()
        let label = Self.label(push)
        state.withLock { state in
            state.pages += 1
            for index in page.entries.indices {
                let token = Array(page.token(index))
                state.sent[token, default: []].append(push)
                state.total += 1
                let answered: PushOutcome
                if let answerByLabel {
                    state.attempts[label, default: [:]][token, default: 0] += 1
                    answered = answerByLabel(token, label, state.attempts[label]?[token] ?? 1)
                } else {
                    answered = answer(token, state.sent[token]!.count)
                }
                switch answered {
                case .accepted: outcome.accepted += 1
                case let other: outcome.exceptions.append(.init(index: page.number(index), outcome: other))
                }
                push.trace?.note(Self.exchange(token, push, answered))
                state.requests.append(
                    Request(token: token, label: label, isAccepted: answered == .accepted, at: .now))
            }
            arrivals.move(to: state.total)
        }
        return outcome
    }

    var requests: [Request] { state.withLock { $0.requests } }

    /// The labels of the pushes that a token accepted, in order.
    func taken(_ number: Int) -> [String] { taken[number] ?? [] }

    /// The same for all tokens.
    var taken: [Int: [String]] {
        requests.reduce(into: [:]) { taken, request in
            if request.isAccepted { taken[WorkerFixture.number(request.token), default: []].append(request.label) }
        }
    }

    static func label(_ push: PreparedPush) -> String {
        let text = String(decoding: push.payload, as: UTF8.self)
        guard let start = text.range(of: "\"label\":\"")?.upperBound, let end = text[start...].firstIndex(of: "\"")
        else {
            return ""
        }
        return String(text[start..<end])
    }

    private static func exchange(_ token: [UInt8], _ push: PreparedPush, _ answer: PushOutcome) -> Exchange {
        let outcome: Exchange.Outcome =
            switch answer {
            case .accepted: .answered(status: 200, reason: "", fields: [])
            case .rejected(let rejection):
                .answered(status: rejection.status, reason: rejection.reason, fields: [])
            case .unanswered(let none): .unanswered(none.cause.rawValue)
            }
        return Exchange(
            origin: "https://apns", path: "/3/device/\(WorkerFixture.number(token))", fields: [],
            payload: push.payload, sentAt: 0, endedAt: 0, outcome: outcome)
    }

    /// How many pushes were sent to each token.
    var counts: [[UInt8]: Int] { state.withLock { $0.sent.mapValues(\.count) } }
    var total: Int { state.withLock { $0.total } }
    func pushes(to token: [UInt8]) -> [PreparedPush] { state.withLock { $0.sent[token] ?? [] } }

    /// Returns when `count` requests were answered.
    func answered(_ count: Int) async { await arrivals.passed(count) }

    /// How many pages were answered.
    var pages: Int { state.withLock { $0.pages } }

    /// How many pages are held.
    var held: Int { holders.count }

    /// Returns when `pages` pages are held.
    func holding(pages: Int) async { await holders.passed(pages) }

    /// Holds pages until `letGo`: all, or those with such a token. These pages are in flight when a
    /// worker is asked to stop.
    func hold(_ isHeld: @escaping @Sendable (_ token: [UInt8]) -> Bool = { _ in true }) {
        state.withLock { $0.isHeld = isHeld }
    }
    func letGo() { letGo(holding: nil) }

    /// Goes on with the pages that have no such token.
    func letGo(holding isHeld: (@Sendable (_ token: [UInt8]) -> Bool)?) {
        let free = state.withLock { state in
            state.isHeld = isHeld
            let free = state.waiting.filter { !state.holds($0.page) }
            state.waiting = state.waiting.filter { state.holds($0.page) }
            holders.move(to: state.waiting.count)
            return free
        }
        for page in free { page.continuation.resume() }
    }

    private func passGate(_ page: TokenPage) async {
        await withCheckedContinuation { continuation in
            let mayPass = state.withLock { state in
                guard state.holds(page) else { return true }
                state.waiting.append((page, continuation))
                holders.move(to: state.waiting.count)
                return false
            }
            if mayPass { continuation.resume() }
        }
    }
}

extension PreparedPush {
    /// The value of a header field.
    func value(_ field: String) -> String? { fields.first { $0.name == field }?.value }
}
