internal import NIOCore

/// Checks of Apple's page "Sending channel management requests to APNs":
///
///     POST   /1/apps/<bundle id>/channels       201 with apns-channel-id
///     GET    /1/apps/<bundle id>/channels       200 with the channel's properties
///     DELETE /1/apps/<bundle id>/channels       204
///     GET    /1/apps/<bundle id>/all-channels   200 with all ids
extension Judge {
    mutating func judgeManagement(
        _ head: RequestHead, body: ByteBuffer, connection: inout ConnectionFacts, now: Int
    ) -> Answer {
        newest.keep(head, body, .management)
        var answer = Answer(judgement: .accepted, id: messageID(head.requestID))
        if let reason = manage(head, body: body, connection: &connection, now: now, &answer) {
            answer.judgement = .rejected(reason, timestamp: nil)
        } else if faults.manageLoseNext > 0 {
            faults.manageLoseNext -= 1
            answer.judgement = .reset(.internalError)
        }
        record.noteManagement(answer.judgement)
        return answer
    }

    /// Executes the request and fills `answer`. Nil if it was accepted, else the reason.
    private mutating func manage(
        _ head: RequestHead, body: ByteBuffer, connection: inout ConnectionFacts, now: Int, _ answer: inout Answer
    ) -> Reason? {
        let parts = head.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "1", parts[2] == "apps",
            Self.isBundleID(String(parts[3])),
            parts[4] == "channels" || parts[4] == "all-channels"
        else { return .badPath }
        let methods = parts[4] == "channels" ? ["POST", "GET", "DELETE"] : ["GET"]
        guard methods.contains(head.method) else { return .methodNotAllowed }
        if let rejectAll = plan.rejectAll { return rejectAll }
        if let reason = authenticate(head.authorization, connection: &connection, now: now) { return reason }
        if head.repeatsHeader { return .duplicateHeaders }
        let bundleID = String(parts[3])
        guard mayServe(bundleID, key: connection.key) else { return .topicMismatch }
        if let reason = Self.checkRequestID(head) { return reason }
        let attempt = record.totals.broadcasts.manageRequests
        let drawn = RandomDecision.rejection(
            seed: configuration.seed, RandomDecision.hash(head.path.utf8), attempt: attempt)
        if let reason = plan.manageRejections.reason(at: drawn) { return reason }
        if parts[4] == "all-channels" {
            let ids = channels.all(bundleID: bundleID).map { "\"\($0)\"" }.joined(separator: ",")
            answer.body = Array(#"{"channels":[\#(ids)]}"#.utf8)
            return nil
        }
        if head.method == "POST" { return create(bundleID, Array(body.readableBytesView), now: now, &answer) }
        if let reason = Self.checkChannelID(head) { return reason }
        guard let channel = channels.find(head.channelID ?? "", bundleID: bundleID) else {
            return .channelNotRegistered
        }
        if head.method == "DELETE" {
            _ = channels.delete(channel.id, now: now)
            record.totals.broadcasts.deleted += 1
            answer.status = 204
        } else {
            let policy = channel.storesNewest ? 1 : 0
            answer.body = Array(#"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#.utf8)
        }
        return nil
    }

    private mutating func create(_ bundleID: String, _ body: [UInt8], now: Int, _ answer: inout Answer) -> Reason? {
        guard let root = JSONReader.read(body), root.kind == .object else { return .badRequestPayload }
        let members = root.members
        guard let pushType = members["push-type"] else { return .missingPushType }
        guard pushType.string == "LiveActivity" else { return .invalidPushType }
        guard let policy = members["message-storage-policy"]?.text, policy == "0" || policy == "1" else {
            return .badRequestPayload
        }
        guard channels.all(bundleID: bundleID).count < configuration.channelLimit else {
            return .cannotCreateChannelConfig
        }
        let channel = channels.create(bundleID: bundleID, storesNewest: policy == "1", now: now)
        record.totals.broadcasts.created += 1
        answer.status = 201
        answer.channelID = channel.id
        return nil
    }
}
