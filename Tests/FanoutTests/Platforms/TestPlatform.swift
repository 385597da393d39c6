import APNsWire
import Delivery
import FCMClient
import LiveActivity
import Store
import Synchronization
import TestSupport
import Testing

@testable import Fanout

/// A platform for the suite that each platform has to pass: how a device is addressed, and the platform's words.
struct TestPlatform: CustomTestStringConvertible {
    /// A kind of answer of which each platform has one.
    enum Answer: CaseIterable { case accepted, busy, wrong, gone, forbidden, unreachable }

    let platform: Platform
    let address: @Sendable (Int) throws -> PushToken
    /// The platform's answer of each kind, but for acceptance and no answer at all.
    var rejections: [Answer: Rejection]
    let sender: @Sendable (TestWire) -> any PlatformSender

    var testDescription: String { platform.name }

    func outcome(_ answer: Answer) -> PushOutcome {
        switch answer {
        case .accepted: .accepted
        case .unreachable: .unanswered(NoAnswer(.connectionFailed, mayHaveBeenDelivered: false))
        case .busy, .wrong, .gone, .forbidden: rejections[answer].map(PushOutcome.rejected) ?? .accepted
        }
    }

    func wire(_ rule: @escaping @Sendable (_ number: Int, _ attempt: Int) -> Answer = { _, _ in .accepted }) -> TestWire
    {
        TestWire(self, rule)
    }

    static let all = [apns, fcm, fake]

    static let apns = TestPlatform(
        platform: .ios, address: { PushToken(bytes: bigEndian(UInt32($0)))! },
        rejections: [
            .busy: Rejection(status: 503, reason: .known(.serviceUnavailable)),
            .wrong: Rejection(status: 400, reason: .known(.badDeviceToken)),
            .gone: Rejection(status: 410, reason: .known(.unregistered)),
            .forbidden: Rejection(status: 403, reason: .known(.invalidProviderToken)),
        ],
        sender: { wire in
            APNsSender(
                bundleID: "com.example.shop", transport: WireTransport(wire: wire), otherTransport: nil)
        })

    static let fcm = TestPlatform(
        platform: .android,
        address: { number in
            let digits = "\(number)"
            return PushToken(
                try AndroidAddress(.token, "fcm:" + String(repeating: "-", count: 140 - digits.count) + digits))
        },
        rejections: [
            .busy: Rejection(status: 503, reason: FCMReason.unavailable.rawValue, verdict: .retry),
            .wrong: Rejection(status: 403, reason: FCMReason.senderIDMismatch.rawValue, verdict: .pruneToken),
            .gone: Rejection(status: 404, reason: FCMReason.unregistered.rawValue, verdict: .pruneIfOlder),
            .forbidden: Rejection(status: 403, reason: FCMReason.permissionDenied.rawValue, verdict: .haltApp),
        ],
        sender: { FCMSender(project: "shop-1", transport: WireTransport(wire: $0), now: { nowMilliseconds() }) })

    /// Differs from APNs where platforms do: text addresses of 200 bytes, words and codes of its own, another content.
    static let fake = TestPlatform(
        platform: FakeSender.platform,
        address: { number in
            let digits = "\(number)"
            return try PushToken(
                text: "fake:" + String(repeating: "-", count: 195 - digits.count) + digits, of: FakeSender.platform)
        },
        rejections: [
            .busy: Rejection(status: 429, reason: "RESOURCE_EXHAUSTED", verdict: .retry),
            .wrong: Rejection(status: 403, reason: "SENDER_ID_MISMATCH", verdict: .pruneToken),
            .gone: Rejection(status: 404, reason: "UNREGISTERED", verdict: .pruneIfOlder),
            .forbidden: Rejection(status: 401, reason: "UNAUTHENTICATED", verdict: .haltApp),
        ],
        sender: { FakeSender(wire: $0) })
}

/// The servers of a test platform: they answer by a rule, and keep the contents that they accepted.
final class TestWire: Sendable {
    private struct State {
        var rule: @Sendable (_ number: Int, _ attempt: Int) -> TestPlatform.Answer
        var attempts: [[UInt8]: Int] = [:]
        var taken: [[UInt8]: [String]] = [:]
    }
    private let state: Mutex<State>
    private let requests = Signal("requests were answered")
    private let platform: TestPlatform

    init(_ platform: TestPlatform, _ rule: @escaping @Sendable (_ number: Int, _ attempt: Int) -> TestPlatform.Answer) {
        self.platform = platform
        state = Mutex(State(rule: rule))
    }

    func becomes(_ answer: TestPlatform.Answer) { state.withLock { $0.rule = { _, _ in answer } } }
    /// Returns when so many requests were answered.
    func answered(_ count: Int) async { await requests.passed(count) }
    var total: Int { requests.count }

    /// The contents that an address accepted, in order.
    func taken(_ number: Int) throws -> [String] {
        let address = try platform.address(number).bytes
        return state.withLock { $0.taken[address] ?? [] }
    }

    fileprivate func answer(_ address: [UInt8], _ content: String) -> PushOutcome {
        let number =
            Int(String(decoding: address, as: UTF8.self).drop { !$0.isNumber }) ?? WorkerFixture.number(address)
        let outcome = state.withLock { state in
            state.attempts[address, default: 0] += 1
            let outcome = platform.outcome(state.rule(number, state.attempts[address] ?? 1))
            if outcome == .accepted { state.taken[address, default: []].append(content) }
            requests.move(to: state.attempts.values.reduce(0, +))
            return outcome
        }
        return outcome
    }
}

extension PreparedPush {
    /// The content of a push as a server reads it, for the device at an address.
    /// - Parameter time: of the device's registration
    func content(for address: [UInt8], registeredAt time: Int64) -> String {
        switch body {
        case .shared(let bytes): String(decoding: bytes, as: UTF8.self)
        case .ofEntry(let pieces):
            pieces.map { piece in
                switch piece {
                case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
                case .address: String(decoding: address, as: UTF8.self)
                case .addressByKind: String(decoding: address.dropFirst(), as: UTF8.self)
                case .channel: ""
                case .registration(let limit): time > limit ? "-\(time)" : ""
                case .secondsLeft(let end, let most): "\(min((end - bootClock() + 999) / 1_000, Int64(most)))"
                }
            }.joined()
        }
    }
}

struct WireTransport: PushTransport {
    let wire: TestWire
    var requestTimeout: Duration { .seconds(10) }
    func close() async {}

    func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        guard permission.holds else {
            return PageOutcome(all: page, .unanswered(.init(.cancelled, mayHaveBeenDelivered: false)))
        }
        var outcome = PageOutcome()
        for index in page.entries.indices {
            let address = Array(page.token(index))
            let content = push.content(for: address, registeredAt: page.entries[index].registeredAt)
            switch wire.answer(address, content) {
            case .accepted: outcome.accepted += 1
            case let other: outcome.exceptions.append(.init(index: page.number(index), outcome: other))
            }
        }
        return outcome
    }
}

struct FakeSender: PlatformSender {
    static let platform = Platform(code: 2)
    var platform: Platform { Self.platform }
    var transport: any PushTransport
    var otherTransport: (any PushTransport)? { nil }
    let reasons = PlatformReasons(
        known: ["RESOURCE_EXHAUSTED", "SENDER_ID_MISMATCH", "UNREGISTERED", "UNAUTHENTICATED"],
        dead: ["SENDER_ID_MISMATCH"], gone: ["UNREGISTERED"])

    init(wire: TestWire) { transport = WireTransport(wire: wire) }

    /// The address is a part of the body.
    func render(_ record: PushRecord, _ name: ActivityName, for receivers: PushReceivers) -> PreparedPush {
        let text = Array("\(record.event) of \(name) for ".utf8)
        return PreparedPush(path: .shared("/send"), fields: [], body: .ofEntry([.bytes(text), .address]))
    }
}
