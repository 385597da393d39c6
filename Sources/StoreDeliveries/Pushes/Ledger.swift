public import Answers
public import LiveActivity
public import StoreGround

/// The ledger of one push: `targets = delivered + pruned + failed + superseded + expired + skipped + pending`.
@dynamicMemberLookup public struct Ledger: Sendable, Hashable {
    public var id: PushID
    public var name: ActivityName
    public var event: ActivityEvent
    public var priority: PushPriority
    public var state: PushState
    public var expanded = false
    public var outcomes = Outcomes()
    /// The part of them on each platform that counts apart.
    var apart: [Platform: Outcomes] = [:]
    /// The platforms whose devices it was for.
    public var platforms: [Platform] = [.ios]
    public var retries = 0
    public var duplicatesPossible = 0
    /// Targets that got the push at priority 5 although 10 was asked for, because the budget was used up.
    public var demoted = 0
    /// Targets that began to follow after the sweep and got the state as late joiners.
    public var late = 0
    /// For a start: delivered targets with a start token reported long ago. APNs answers 200, but maybe no card began.
    public var stale = 0
    public var supersededBy: PushID?
    /// Epoch milliseconds.
    public var createdAt: Int64
    public var finishedAt: Int64?
    /// Answers other than 200, by reason. A token with several attempts may be counted under several reasons.
    public var errors: [String: Int] = [:]
    /// The push ends cards that started long ago. No publisher asked for it.
    public var isAutomatic = false
    /// Somebody tried the push on one device (`Publish.isTest`).
    public var isTest = false
    /// Size of the payload before its timestamp and marks are filled in.
    public var payloadBytes = 0
    /// How many devices told of the push's content state. Absent: none did.
    public var receipts: [ReceiptEvent: Int] = [:]
    /// Nil if the push went to tokens alone.
    public var broadcast: PushBroadcast?
    /// Nil for an automatic end, and for a push that an older version accepted.
    public var publisher: Publisher?
    /// The span that accepted it, as a `traceparent`.
    public var traceparent: String?

    public subscript(dynamicMember path: KeyPath<Outcomes, Int>) -> Int { outcomes[keyPath: path] }
}

extension Ledger {
    init(id: PushID, name: ActivityName, _ fields: StoredHash) throws(StoreError) {
        let record = try PushRecord(id: id, fields)
        self.init(
            id: id, name: name, event: record.event, priority: record.priority, state: record.state,
            createdAt: record.createdAt)
        (isAutomatic, isTest) = (record.isAutomatic, record.isTest)
        payloadBytes = record.payload.count
        traceparent = record.traceparent
        publisher = fields.text("by").flatMap { Publisher(stored: $0) }
        expanded = fields.text("expanded") == "1"
        func count(_ field: String) -> Int { fields.number(field) ?? 0 }
        outcomes.targets = count("targets")
        for field in SettledField.allCases { outcomes[field] = count(field.rawValue) }
        platforms = record.platforms
        apart = Self.apart(fields)
        (retries, duplicatesPossible) = (count("retries"), count("duplicates"))
        (demoted, late, stale) = (count("demoted"), count("late"), count("stale_tokens"))
        supersededBy = fields.text("superseded_by").flatMap { PushID($0) }
        finishedAt = fields.number("finished").map(Int64.init)
        broadcast = fields.text("bc").flatMap(PushBroadcast.State.init(rawValue:)).map { state in
            PushBroadcast(
                state: state, channel: fields.text("bc:channel").flatMap { try? BroadcastChannelID($0) },
                status: fields.number("bc:status"), reason: fields.text("bc:reason").flatMap { $0.isEmpty ? nil : $0 },
                attempts: fields.number("bc:tries") ?? 0)
        }
        for (field, value) in fields.pairs {
            if let reason = field.rest(behind: "e:") { errors[reason] = Int(value) }
            if let event = field.rest(behind: "r:").flatMap(ReceiptEvent.init(rawValue:)) {
                receipts[event] = Int(value)
            }
        }
        if let stopped = fields.text("stopped"), errors[stopped] == nil { errors[stopped] = 1 }
    }
}

extension Ledger {
    /// The field of a count on one platform.
    static func field(_ field: String, _ platform: Platform) -> String {
        platform.countsApart ? "\(field)@\(platform.code)" : field
    }

    /// The fields of counts on platforms that count apart.
    package static let fieldsApart = Platform.all.filter(\.countsApart).flatMap { platform in
        (["targets"] + SettledField.allCases.map(\.rawValue)).map { field($0, platform) }
    }

    /// The counts on platforms that count apart, as a push's record has them.
    package static func apart(_ fields: StoredHash) -> [Platform: Outcomes] {
        func count(_ field: String, _ platform: Platform) -> Int { fields.number(Self.field(field, platform)) ?? 0 }
        var apart: [Platform: Outcomes] = [:]
        for platform in Platform.all where platform.countsApart {
            var part = Outcomes(targets: count("targets", platform))
            for field in SettledField.allCases { part[field] = count(field.rawValue, platform) }
            if part != Outcomes() { apart[platform] = part }
        }
        return apart
    }

    /// The same counts, with the counts that scripts could not make on a platform: of channels that an operator's retry
    /// took out of a dead letter.
    /// - Parameter sum: of all platforms
    package static func settled(_ apart: [Platform: Outcomes], of sum: Outcomes) -> [Platform: Outcomes] {
        var (found, rest) = ([Platform: Outcomes](), sum)
        for platform in Platform.all where apart[platform] != nil {
            var part = apart[platform] ?? Outcomes()
            part.leaveRetried(of: rest)
            part.targets = max(part.targets, part.settled)
            if sum.pending == 0 { part.settleRest(of: rest) }
            rest -= part
            found[platform] = part
        }
        return found
    }

    /// The outcomes on each platform. Together they are the sum. Empty: the push was for one platform, the first.
    public var byPlatform: [Platform: Outcomes] {
        if platforms == [.ios], apart.isEmpty { return [:] }
        // The sums have also what was counted without its platform.
        if platforms.count == 1, let only = platforms.first, only.countsApart { return [only: outcomes] }
        var (found, rest) = (Self.settled(apart, of: outcomes), outcomes)
        for part in found.values { rest -= part }
        for platform in platforms where platform.countsApart { found[platform] = found[platform] ?? Outcomes() }
        if rest != Outcomes() || platforms.contains(.ios) { found[.ios] = rest }
        return found
    }

    /// The ledger as the API answers it and as outgoing events tell it.
    public var answer: LedgerAnswer {
        LedgerAnswer(
            pushID: id.description, name: name.rawValue, event: event.rawValue, priority: priority.rawValue,
            state: state.rawValue, expanded: expanded, outcomes: outcomes,
            platforms: byPlatform.isEmpty ? nil : PlatformOutcomesAnswer(byPlatform), retries: retries,
            duplicatesPossible: duplicatesPossible, demoted: demoted, late: late,
            stale: event == .start ? stale : nil, automatic: isAutomatic ? true : nil, test: isTest ? true : nil,
            broadcast: broadcast?.answer,
            supersededBy: supersededBy?.description, createdAt: TimeText.text(createdAt),
            finishedAt: finishedAt.map(TimeText.text), errors: errors, shown: receipts[.shown],
            ended: receipts[.ended], dismissed: receipts[.dismissed], by: nil)
    }

    /// The ledger with the publisher of the push, which outgoing events do not tell.
    public var withPublisher: LedgerAnswer {
        var body = answer
        body.by = publisher.map(PublisherAnswer.init)
        return body
    }
}

extension PushBroadcast {
    fileprivate var answer: BroadcastResultAnswer {
        BroadcastResultAnswer(
            channel: channel?.rawValue, state: state.rawValue, status: status, attempts: attempts, reason: reason)
    }
}

/// The request that sends a push to its name's broadcast channel, besides those to tokens. No target of the ledger.
public struct PushBroadcast: Sendable, Hashable {
    public enum State: String, Sendable, Hashable, CaseIterable {
        case waiting, delivered, failed, superseded, expired, cancelled
    }

    public var state: State
    /// The broadcast channel of the last attempt. `status` and `reason` are of that attempt too.
    public var channel: BroadcastChannelID?
    /// APNs's status; nil = no answer.
    public var status: Int?
    public var reason: String?
    public var attempts: Int
}

public enum PushState: String, Sendable, Hashable, CaseIterable {
    case scheduled, queued, sending, done, failed, superseded, expired, cancelled
    public var isFinal: Bool {
        switch self {
        case .scheduled, .queued, .sending: false
        case .done, .failed, .superseded, .expired, .cancelled: true
        }
    }
}

extension Outcomes {
    /// An operator's retry takes channels out of the sum of `failed` alone, because a dead letter does not tell their
    /// platforms. So the part has them twice once they have another outcome: then as `failed` too.
    fileprivate mutating func leaveRetried(of sum: Outcomes) {
        let most = min(max(0, sum.failed), max(0, targets - settled + failed))
        self[.failed] = min(failed, most)
    }

    /// The outcomes of retried channels that no script counted on their platform, because they were superseded or
    /// waited when their push was stopped. Once the push is final, they are among the outcomes that other platforms do
    /// not have. If several outcomes are possible, this is a guess.
    fileprivate mutating func settleRest(of sum: Outcomes) {
        for field in [SettledField.superseded, .expired, .failed, .skipped, .delivered, .pruned] {
            let most = sum[field] - self[field]
            if most > 0 { self[field] += min(most, max(0, pending)) }
        }
    }
}
