internal import NIOCore

/// Checks of Apple's page "Sending broadcast push notification requests to APNs".
extension Judge {
    static let maximumBroadcast = 5_120
    /// Apple says "oversized" but gives no number.
    static let maximumChannelID = 64

    /// Checks one broadcast. `body` holds at most one byte more than a broadcast's payload may have.
    mutating func checkBroadcast(
        _ head: RequestHead, body: ByteBuffer, connection: inout ConnectionFacts, target: inout Target?, now: Int
    ) -> Judgement {
        func rejected(_ reason: Reason) -> Judgement { .rejected(reason, timestamp: nil) }
        let bundleID = String(head.path.dropFirst(RequestHead.broadcastPath.count))
        guard Self.isBundleID(bundleID) else { return rejected(.badPath) }
        guard head.method == "POST" else { return rejected(.methodNotAllowed) }
        if let rejectAll { return rejected(rejectAll) }
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
        target = .channel(found)
        if !found.storesNewest, Int(expiration) != 0 { return rejected(.badExpirationDate) }
        if body.readableBytes == 0 { return rejected(.payloadEmpty) }
        if body.readableBytes > Self.maximumBroadcast { return rejected(.payloadTooLarge) }
        return .accepted
    }

    // MARK: What both have in common

    static func checkRequestID(_ head: RequestHead) -> Reason? {
        head.requestID.map { MessageID($0) == nil } == true ? .badMessageId : nil
    }

    static func checkChannelID(_ head: RequestHead) -> Reason? {
        guard let id = head.channelID, !id.isEmpty else { return .missingChannelId }
        return id.utf8.count <= maximumChannelID && Base64.isEncoded(id) ? nil : .badChannelId
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
}

extension RequestHead {
    static let broadcastPath = "/4/broadcasts/apps/"

    var isBroadcast: Bool { path.hasPrefix(Self.broadcastPath) }
}
