/// A phone with an app that has Airship's SDK for Android. It takes messages by the rules of that SDK.
struct AndroidPhone: Sendable {
    /// One live update, by its name.
    struct Card: Sendable {
        var type: String?
        var isActive = false
        /// The second of the start or end that the phone took last.
        var stateTimestamp = 0
        /// The newest content that the phone stored. A start, an update and an end change it.
        var content: LiveUpdate?
        /// The phone shows the message that it took last, and the last content state.
        var shown: LiveUpdate?
        var contentState: String?
        /// How many starts the phone took.
        var starts = 0
        /// The greatest order that the phone showed. Nil without one.
        var newest: Int?
        /// How often the phone showed a lower order after a greater one.
        var backwards = 0
    }

    enum Outcome: Sendable, Hashable {
        /// - Parameter backwards: the order is lower than the greatest before
        case shown(backwards: Bool)
        /// One of the last messages had the same canonical id.
        case duplicate
        /// The phone has something newer.
        case older
        case ignored(String)
    }

    /// The channel's id, from the first message.
    private(set) var channel: String?
    private(set) var cards: [String: Card] = [:]
    private var canonicalIDs: [String] = []
    private static let keptIDs = 10

    static let pushID = "com.urbanairship.push.PUSH_ID"
    static let canonicalPushID = "com.urbanairship.push.CANONICAL_PUSH_ID"
    static let channelID = "com.urbanairship.push.APID"
    static let expiration = "com.urbanairship.push.EXPIRATION"
    static let metadata = "com.urbanairship.metadata"
    static let liveUpdate = "com.urbanairship.live_update"

    /// - Parameters:
    ///   - update: the live update of `data`, which many phones share
    ///   - seconds: the phone's clock
    mutating func receive(_ data: [String: String], _ update: Result<LiveUpdate, LiveUpdate.Fault>?, seconds: Int)
        -> Outcome
    {
        guard [Self.pushID, Self.canonicalPushID, Self.metadata].contains(where: { data[$0] != nil }) else {
            return .ignored("not a message of Airship")
        }
        if let id = data[Self.channelID] {
            if let channel, channel != id { return .ignored("the channel is another one") }
            channel = id
        }
        // The SDK keeps the id before it looks at the card, so a repetition of an ignored message is dropped too.
        if let id = data[Self.canonicalPushID], !id.isEmpty {
            if canonicalIDs.contains(id) { return .duplicate }
            canonicalIDs.append(id)
            if canonicalIDs.count > Self.keptIDs { canonicalIDs.removeFirst() }
        }
        if let text = data[Self.expiration], let end = Int(text), end < seconds { return .ignored("expired") }
        switch update {
        case nil: return .ignored("no live update")
        case .failure(let fault)?: return .ignored(fault.text)
        case .success(let update)?: return cards[update.name, default: Card()].take(update)
        }
    }
}

extension AndroidPhone.Card {
    fileprivate mutating func take(_ update: LiveUpdate) -> AndroidPhone.Outcome {
        switch update.event {
        case .start: start(update)
        case .update: change(update)
        case .end: end(update)
        }
    }

    private mutating func start(_ update: LiveUpdate) -> AndroidPhone.Outcome {
        if stateTimestamp > update.timestamp { return .older }
        // A start of another type ends the card and starts again.
        if isActive, type == update.type { return .ignored("start of a card that is active") }
        type = update.type
        isActive = true
        stateTimestamp = update.timestamp
        content = update
        starts += 1
        return show(update)
    }

    private mutating func change(_ update: LiveUpdate) -> AndroidPhone.Outcome {
        // The comparison is strict: of two contents with one second, the later content stays.
        if let content, content.timestamp > update.timestamp { return .older }
        content = update
        return isActive ? show(update) : .ignored("update of a card that was not started")
    }

    private mutating func end(_ update: LiveUpdate) -> AndroidPhone.Outcome {
        guard isActive else { return .ignored("end of a card that was not started") }
        // Only the start is compared, so an old end brings its old content back.
        if stateTimestamp > update.timestamp { return .older }
        isActive = false
        stateTimestamp = update.timestamp
        content = nil
        return show(update)
    }

    private mutating func show(_ update: LiveUpdate) -> AndroidPhone.Outcome {
        shown = update
        if let state = update.contentState { contentState = state }
        guard let order = update.order else { return .shown(backwards: false) }
        let isBackwards = newest.map { order < $0 } ?? false
        if isBackwards { backwards += 1 }
        newest = max(newest ?? order, order)
        return .shown(backwards: isBackwards)
    }
}
