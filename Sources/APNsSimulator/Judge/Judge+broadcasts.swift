internal import NIOCore

/// Checks of Apple's page "Sending broadcast push notification requests to APNs".
extension Judge {
    static let maximumBroadcast = 5_120
    /// Apple says "oversized" but gives no number.
    static let maximumChannelID = 64

    /// `body` holds at most one byte more than a broadcast's payload may have.
    mutating func checkBroadcast(
        _ head: RequestHead, body: ByteBuffer, connection: inout ConnectionFacts, target: inout Target?, now: Int
    ) -> Reason? {
        let bundleID = String(head.path.dropFirst(RequestHead.broadcastPath.count))
        guard Self.isBundleID(bundleID) else { return .badPath }
        guard head.method == "POST" else { return .methodNotAllowed }
        if let rejectAll = plan.rejectAll { return rejectAll }
        if let reason = authenticate(head.authorization, connection: &connection, now: now) { return reason }
        if head.repeatsHeader { return .duplicateHeaders }
        guard mayServe(bundleID, key: connection.key) else { return .topicMismatch }
        if head.topic != nil || head.collapseID != nil { return .badRequestParams }
        if let reason = Self.checkRequestID(head) { return reason }
        if let reason = Self.checkChannelID(head) { return reason }
        guard let pushType = head.pushType else { return .missingPushType }
        guard pushType == "liveactivity" else { return .invalidPushType }
        guard let expiration = head.expiration, Self.isDecimal(expiration) else { return .badExpirationDate }
        guard let priority = head.priority, priority == "10" || priority == "5" else { return .badPriority }
        guard let found = channels.find(head.channelID ?? "", bundleID: bundleID) else { return .channelNotRegistered }
        target = .channel(found)
        if !found.storesNewest, Int(expiration) != 0 { return .badExpirationDate }
        if body.readableBytes == 0 { return .payloadEmpty }
        return body.readableBytes > Self.maximumBroadcast ? .payloadTooLarge : nil
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
            && text.unicodeScalars.allSatisfy {
                ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0) || $0 == "."
                    || $0 == "-"
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
