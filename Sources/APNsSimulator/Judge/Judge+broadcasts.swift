internal import NIOCore

/// The response to one request to `/4/broadcasts` or to channel management.
struct ChannelAnswer: Sendable {
    var judgement: Judgement
    /// The status of an accepted request.
    var status = 200
    /// `apns-request-id`: the one of the request, or a new one.
    var requestID: MessageID
    /// `apns-channel-id` of a new channel.
    var channelID: String?
    var body: [UInt8] = []
}

/// Checks of Apple's page "Sending broadcast push notification requests to APNs".
extension Judge {
    static let maximumBroadcast = 5_120
    /// Apple says "oversized" but gives no number.
    static let maximumChannelID = 64

    /// Decides about one broadcast. `body` holds at most one byte more than a broadcast's payload may have.
    mutating func judgeBroadcast(
        _ head: RequestHead,
        body: ByteBuffer,
        stallsHere: Bool,
        connection: inout ConnectionFacts,
        now: Int
    ) -> ChannelAnswer {
        newest.keep(head, body, .broadcast)
        let requestID = requestID(of: head)
        var channel: BroadcastChannelBook.Channel?
        var verdict = checkBroadcast(head, body: body, connection: &connection, channel: &channel, now: now)
        guard let channel else {
            if stallsHere { verdict = .stalled }
            record.noteBroadcast(verdict)
            return ChannelAnswer(judgement: verdict, requestID: requestID)
        }
        let hash = Draw.hash(channel.id.utf8)
        let attempt = channel.received.requests
        if verdict == .accepted, let reason = drawn(broadcastRejections, hash, attempt) {
            verdict = .rejected(reason, timestamp: nil)
        }
        let reaches = disturb(&verdict, hash, attempt: attempt, stallsHere: stallsHere)
        record.noteBroadcast(verdict)
        record.receiveBroadcast(
            &channels, channel: channel.id, payload: body, verdict: verdict, reaches: reaches, id: requestID,
            port: connection.port, now: now)
        return ChannelAnswer(judgement: verdict, requestID: requestID)
    }

    private mutating func checkBroadcast(
        _ head: RequestHead,
        body: ByteBuffer,
        connection: inout ConnectionFacts,
        channel: inout BroadcastChannelBook.Channel?,
        now: Int
    ) -> Judgement {
        func rejected(_ reason: Reason) -> Judgement { .rejected(reason, timestamp: nil) }
        let bundleID = String(head.path.dropFirst(RequestHead.broadcastPath.count))
        guard Self.isBundleID(bundleID) else { return rejected(.badPath) }
        guard head.method == "POST" else { return rejected(.methodNotAllowed) }
        if let reason = faults.rejectAll.flatMap(Reason.init(rawValue:)) { return rejected(reason) }
        if let reason = authenticate(head.authorization, connection: &connection, now: now) { return rejected(reason) }
        if head.repeatsHeader { return rejected(.duplicateHeaders) }
        guard mayServe(bundleID, key: connection.key) else { return rejected(.topicMismatch) }
        if head.topic != nil || head.collapseID != nil { return rejected(.badRequestParams) }
        if let reason = Self.checkRequestID(head) { return rejected(reason) }
        if let reason = Self.checkChannelID(head) { return rejected(reason) }
        guard let pushType = head.pushType else { return rejected(.missingPushType) }
        guard pushType == "liveactivity" else { return rejected(.invalidPushType) }
        guard let expiration = head.expiration, Self.isDecimal(expiration) else { return rejected(.badExpirationDate) }
        guard let priority = head.priority, priority == "10" || priority == "5" else { return rejected(.badPriority) }
        guard let found = channels.find(head.channelID ?? "", bundleID: bundleID) else {
            return rejected(.channelNotRegistered)
        }
        channel = found
        if !found.storesNewest, Int(expiration) != 0 { return rejected(.badExpirationDate) }
        if body.readableBytes == 0 { return rejected(.payloadEmpty) }
        if body.readableBytes > Self.maximumBroadcast { return rejected(.payloadTooLarge) }
        return .accepted
    }

    // MARK: What both have in common

    mutating func requestID(of head: RequestHead) -> MessageID {
        if let given = head.requestID.flatMap({ MessageID($0) }) { return given }
        defer { messageNumber += 1 }
        return Draw.messageID(seed: configuration.seed, number: messageNumber)
    }

    static func checkRequestID(_ head: RequestHead) -> Reason? {
        head.requestID.map { MessageID($0) == nil } == true ? .badMessageId : nil
    }

    static func checkChannelID(_ head: RequestHead) -> Reason? {
        guard let id = head.channelID, !id.isEmpty else { return .missingChannelId }
        return id.utf8.count <= maximumChannelID && Base64Decoding.isEncoded(id) ? nil : .badChannelId
    }

    static func isBundleID(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    func mayServe(_ bundleID: String, key: Int?) -> Bool {
        guard let key else { return false }
        return tokens.keys[key].bundleIDs.isEmpty || tokens.keys[key].bundleIDs.contains(bundleID)
    }

    func drawn(_ shares: [(reason: Reason, share: Double)], _ hash: UInt64, _ attempt: Int) -> Reason? {
        guard !shares.isEmpty else { return nil }
        var drawn = Draw.rejection(seed: configuration.seed, hash, attempt: attempt)
        for (reason, share) in shares {
            drawn -= share
            if drawn < 0 { return reason }
        }
        return nil
    }
}

extension RequestHead {
    static let broadcastPath = "/4/broadcasts/apps/"

    var isBroadcast: Bool { path.hasPrefix(Self.broadcastPath) }
}
