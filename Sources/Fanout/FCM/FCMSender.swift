public import Delivery
import FCMClient
import FCMWire
public import LiveActivity
public import Store

/// An app's sender to FCM.
public struct FCMSender: PlatformSender {
    public var platform: Platform { .android }
    /// The project of the service account.
    private let project: String
    public var transport: any PushTransport
    public var otherTransport: (any PushTransport)? { nil }
    public var reasons: PlatformReasons { Self.reasons }
    /// Redis's time, epoch milliseconds.
    private let now: @Sendable () -> Int64

    /// The reason in the ledger's `errors` for a push without a content for Android.
    static let noContent = "NoContent"

    public init(project: String, transport: any PushTransport, now: @escaping @Sendable () -> Int64) {
        (self.project, self.transport, self.now) = (project, transport, now)
    }

    /// Makes a sender that keeps to the pace of the project, together with all apps and workers that send with it.
    public init(
        project: String, transport: any PushTransport, turns: DeliveryRates, now: @escaping @Sendable () -> Int64
    ) {
        let account = PlatformAccount(project, .android)
        self.init(project: project, transport: PacedTransport(transport, account, Self.pace, turns), now: now)
    }

    /// Google's limit of a project, for all apps and workers. FCM wants a sender that comes from a rest to take a
    /// minute for it.
    public static let pace = PlatformPace(perSecond: 10_000, rise: .seconds(60), rest: .seconds(600))

    private static let reasons = PlatformReasons(
        known: FCMReason.allCases.map(\.rawValue),
        dead: FCMReason.allCases.filter { $0.verdict == .pruneToken }.map(\.rawValue),
        gone: FCMReason.allCases.filter { $0.verdict == .pruneIfOlder }.map(\.rawValue))

    public func ordersBySecond(_ record: PushRecord) -> Bool { record.contents[.android] != nil }

    public func render(_ record: PushRecord, _ name: ActivityName, for receivers: PushReceivers) -> PreparedPush {
        if let content = content(record, name, receivers) { return FCMMessage.render(content, project: project) }
        var push = PreparedPush(path: .shared("/"), fields: [], body: .shared([]))
        push.refusal = Self.noContent
        return push
    }

    /// A device without the name's card ignores an update, so it gets the state as a start. It ignores a start too that
    /// tells no type.
    public func variant(
        _ record: PushRecord, _ name: ActivityName, for receivers: PushReceivers
    ) -> PreparedPush.Body? {
        guard record.event == .update, var content = content(record, name, receivers),
            let type = content.type ?? record.cardType
        else { return nil }
        (content.event, content.type) = (.start, type)
        let push = FCMMessage.render(content, project: project)
        return push.refusal == nil ? push.body : nil
    }

    /// A message to a device that registered after the push has an id of its own, because the device may have dropped
    /// the push before it had the card. A retry finds that by the time of the registration. A device's clock may be
    /// behind, so the time does not count for devices that are known to have registered later.
    private func content(_ record: PushRecord, _ name: ActivityName, _ receivers: PushReceivers) -> FCMContent? {
        var content = FCMContent(record, name, now: now())
        content?.ownIDAfter = receivers == .followers ? record.createdAt : .min
        return content
    }
}
