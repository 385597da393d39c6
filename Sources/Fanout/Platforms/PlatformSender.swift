public import Delivery
public import LiveActivity
public import Store

/// An app's sender on one platform: it gives a push the platform's form, and has the transport for it. The worker knows
/// nothing else of a platform. The suite PlatformTests tells what a sender has to keep.
public protocol PlatformSender: Sendable {
    var platform: Platform { get }
    /// The worker puts the circuit of app and platform before it.
    var transport: any PushTransport { get set }
    /// For an app in two environments of the platform: where addresses are tried that the first does not know.
    var otherTransport: (any PushTransport)? { get }
    var reasons: PlatformReasons { get }

    /// The push as the platform gets it, made once for all pages of a run.
    func render(_ record: PushRecord, _ name: ActivityName, for receivers: PushReceivers) -> PreparedPush
    /// The form for devices that have lost the name's card (`PushToken.withoutCard`), made for pages that have such an
    /// entry. Nil: they get the usual form.
    func variant(_ record: PushRecord, _ name: ActivityName, for receivers: PushReceivers) -> PreparedPush.Body?
    /// Whether devices get the push and order the name's states by a second that has to rise (`PushRecord.second`).
    func ordersBySecond(_ record: PushRecord) -> Bool
}

/// The devices that a push is rendered for, by when they registered.
public enum PushReceivers: Sendable, Hashable {
    /// Followers that the sweep read, and channels that wait for a retry.
    case followers
    /// Followers that registered during the sweep. A device among them may have got the push before.
    case arrivals
    /// Devices whose cards began after the sweep. They get the content state without the alert, which told about the
    /// past.
    case lateJoiners
}

/// A platform's words in its answers.
public struct PlatformReasons: Sendable {
    /// The reasons under which the worker counts answers. Others count as `other`, so that a platform makes no series.
    let known: Set<String>
    /// The reasons that call an address wrong for the app: the prune guard doubts them. The ledger counts them.
    let dead: [String]
    /// The reasons that call an address dead.
    let gone: [String]

    public init(known: [String], dead: [String], gone: [String]) {
        self.known = Set(known + NoAnswer.Cause.allCases.map(\.rawValue))
        (self.dead, self.gone) = (dead, gone)
    }
}

extension PlatformSender {
    public func variant(
        _ record: PushRecord, _ name: ActivityName, for receivers: PushReceivers
    ) -> PreparedPush.Body? { nil }
    public func ordersBySecond(_ record: PushRecord) -> Bool { false }
    var environments: Environments { Environments(first: transport, other: otherTransport) }
    /// The longest time from the moment when a request is open to its answer.
    var requestTimeout: Duration { max(transport.requestTimeout, otherTransport?.requestTimeout ?? .zero) }
    var lanes: [LaneCounts] { [transport.lanes, otherTransport?.lanes].compactMap(\.self) }

    func behind(_ circuits: AppCircuits, of app: AppKey, now: @escaping @Sendable () -> Int64) -> Self {
        var sender = self
        sender.transport = CircuitTransport(
            transport: transport, key: AppPlatform(app, platform), circuits: circuits, now: now)
        return sender
    }

    func close() async {
        await transport.close()
        await otherTransport?.close()
    }
}
