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

    /// Google's limit of a project, for all workers. FCM wants a sender that comes from a rest to take a minute for it.
    public static let pace = PlatformPace(perSecond: 10_000, rise: .seconds(60), rest: .seconds(600))

    private static let reasons = PlatformReasons(
        known: FCMReason.allCases.map(\.rawValue),
        dead: FCMReason.allCases.filter { $0.verdict == .pruneToken }.map(\.rawValue),
        gone: FCMReason.allCases.filter { $0.verdict == .pruneIfOlder }.map(\.rawValue))

    public func ordersBySecond(_ record: PushRecord) -> Bool { record.android != nil }

    public func render(_ record: PushRecord, _ name: ActivityName, isLate: Bool) -> PreparedPush {
        if let content = content(record, name, isLate: isLate) { return FCMMessage.render(content, project: project) }
        var push = PreparedPush(path: .shared("/"), fields: [], body: .shared([]))
        push.refusal = Self.noContent
        return push
    }

    /// A device without the name's card ignores an update, so it gets the state as a start. It ignores a start too that
    /// tells no type.
    public func variant(_ record: PushRecord, _ name: ActivityName, isLate: Bool) -> PreparedPush.Body? {
        guard record.event == .update, var content = content(record, name, isLate: isLate),
            let type = content.type ?? record.cardType
        else { return nil }
        (content.event, content.type) = (.start, type)
        let push = FCMMessage.render(content, project: project)
        return push.refusal == nil ? push.body : nil
    }

    /// A late joiner's message has an id of its own, because its device may have dropped the push before it had the
    /// card.
    private func content(_ record: PushRecord, _ name: ActivityName, isLate: Bool) -> FCMContent? {
        let now = now()
        var content = FCMContent(record, name, now: now)
        if isLate { content?.canonicalID = FCMContent.lateID(record.id, at: now) }
        return content
    }
}
