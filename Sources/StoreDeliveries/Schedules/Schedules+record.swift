package import LiveActivity
package import Redis
package import StoreGround

/// A schedule as a hash. Unknown fields stay, and missing ones have a default, so that schedules survive an upgrade.
extension Schedules {
    /// Fields that a record need not have. They are removed when another publish replaces one that had them.
    static let optionalFields = [
        "ts", "content", "life", "stale", "dismissal", "relevance", "alert", "type", "attributes", "expiry", "label",
        "reason", "trace", "by", "after",
    ]
}

extension Schedule {
    package var fields: [RedisArgument] {
        var fields: [RedisArgument] = [
            "state", .string(state.rawValue), "name", .string(publish.name.rawValue), "event",
            .string(publish.event.rawValue), "prio",
            .int(publish.priority.rawValue), "aud", .bytes(publish.audience.encoded), "payload", .bytes(payload),
            "offset", .int(timestampOffset), "due", .int(due), "created", .int(createdAt), "posted", .bytes(posted),
            "conflate", publish.options.conflate ? "1" : "0", "insist", publish.options.insist ? "1" : "0",
            "restart", .string(StartOptions(publish.options).stored),
        ]
        func add(_ field: RedisArgument, _ value: RedisArgument?) { if let value { fields += [field, value] } }
        add("ts", publish.timestamp.map { .int($0) })
        add("content", publish.contentState.map { .bytes($0.bytes) })
        add("life", publish.life.map { .int($0.milliseconds) })
        add("stale", publish.staleDate.map { .int($0) })
        add("dismissal", publish.dismissalDate.map { .int($0) })
        add("relevance", publish.relevanceScore.map { .bytes($0.bytes) })
        add("alert", publish.alert.map { .bytes($0.bytes) })
        add("type", publish.attributesType.map { .string($0) })
        add("attributes", publish.attributes.map { .bytes($0.bytes) })
        add("expiry", publish.options.expiry.map { .int($0) })
        add("trace", publish.options.trace.map { .bytes($0.stored) })
        add("after", publish.options.after.stored.map { .string($0) })
        add("by", publish.publisher.map { .string($0.stored) })
        add("label", label.map { .string($0) })
        add("reason", reason.map { .string($0) })
        add("finished", finishedAt.map { .int($0) })
        return fields
    }

    package init(id: PushID, _ fields: StoredHash) throws(StoreError) {
        func json(_ field: String) -> RawJSON? { fields.bytes(field).map { RawJSON(checked: Array($0)) } }
        guard let name = fields.text("name").flatMap({ try? ActivityName($0) }),
            let event = fields.text("event").flatMap(ActivityEvent.init(rawValue:)),
            let priority = fields.number("prio").flatMap(PushPriority.init(rawValue:)),
            let audience = fields.bytes("aud").flatMap({ Audience(encoded: $0) }),
            let payload = fields.bytes("payload"), let offset = fields.number("offset"),
            let due = fields.number("due"), let created = fields.number("created"),
            let state = fields.text("state").flatMap(State.init(rawValue:))
        else { throw .corrupt("schedule") }
        var publish = Publish(
            name: name, event: event, audience: audience, priority: priority, timestamp: fields.number("ts"),
            contentState: json("content"), staleDate: fields.number("stale"),
            dismissalDate: fields.number("dismissal"), relevanceScore: json("relevance"), alert: json("alert"),
            attributesType: fields.text("type"), attributes: json("attributes"),
            options: PublishOptions(
                conflate: fields.text("conflate") != "0", expiry: fields.number("expiry"),
                insist: fields.text("insist") == "1"))
        let start = StartOptions(stored: fields.text("restart"))
        publish.options.restart = start.contains(.restart)
        publish.options.respectDismissal = start.contains(.respectDismissal) ? true : nil
        publish.options.trace = fields.bytes("trace").flatMap { ChannelID(stored: Array($0)) }
        if let after = fields.text("after") {
            guard let after = AfterPush(after) else { throw .corrupt("schedule") }
            publish.options.after = after
        }
        publish.publisher = fields.text("by").flatMap { Publisher(stored: $0) }
        publish.life = fields.number("life").map { .milliseconds($0) }
        // The payload has the contents for all platforms, as the payload of a push has.
        publish.contents = PushContent(stored: payload).contents
        self.init(
            id: id, publish: publish, payload: Array(payload), timestampOffset: offset, due: Int64(due),
            createdAt: Int64(created), label: fields.text("label"), posted: fields.bytes("posted").map(Array.init) ?? []
        )
        self.state = state
        reason = fields.text("reason").flatMap { $0.isEmpty ? nil : $0 }
        finishedAt = fields.number("finished").map(Int64.init)
    }
}
