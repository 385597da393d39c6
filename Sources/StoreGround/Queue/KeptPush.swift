package import LiveActivity

/// A push that ended in the usual case: a value in its name's block of kept records. `shared-kept.lua` has the format.
package struct KeptPush {
    /// As a push's own hash has them.
    package let fields: StoredHash

    /// Nil for a record that cannot be read.
    package init?(_ id: PushID, _ record: ArraySlice<UInt8>) {
        var rest = Bytes(record)
        guard let bits = rest.number(2), let sequence = rest.number(3), let shift = rest.number(3),
            let lasting = rest.number(4), let took = rest.number(4)
        else { return nil }
        let flags = KeptFlags(rawValue: UInt16(bits))
        guard flags.rawValue < KeptFlags.later.rawValue else { return nil }
        let created = id.uuid.time + shift - KeptFlags.shift
        let deadline = created + lasting
        var fields: [String: [UInt8]] = [:]
        func set(_ field: String, _ text: String) { fields[field] = Array(text.utf8) }
        func set(_ field: String, _ number: Int64) { set(field, "\(number)") }
        set("event", "update")
        set("aud", "*")
        set("state", "done")
        set("expanded", "1")
        set("seq", sequence)
        set("created", created)
        set("until", deadline)
        set("finished", created + took)
        set("prio", flags.contains(.low) ? "5" : "10")
        if flags.contains(.sup) { set("sup", flags.contains(.once) ? created : deadline) }
        if flags.contains(.expiry) { set("expiry", deadline / 1_000) }
        if flags.contains(.once) { set("expiry", "0") }
        if flags.contains(.soft) { set("soft", "1") }
        if flags.contains(.told) { set("tell", "-1") }
        if flags.contains(.prev) {
            guard let previous = rest.bytes(16).flatMap({ UUIDBytes(bytes: $0) }) else { return nil }
            set("prev", previous.description)
        }
        if flags.contains(.receipts) {
            for event in [ReceiptEvent.shown, .ended, .dismissed] {
                guard let count = rest.number(2) else { return nil }
                if count > 0 { set("r:\(event.rawValue)", count) }
            }
        }
        guard let timestamp = flags.contains(.time) ? rest.number(5) : created / 1_000 else { return nil }
        set("ts", timestamp)
        if flags.contains(.counts) {
            guard let kinds = rest.number(1) else { return nil }
            for _ in 0..<kinds {
                guard let size = rest.number(1), let count = rest.number(3), let field = rest.text(size)
                else { return nil }
                set(field, count)
            }
        } else {
            guard let targets = flags.contains(.some) ? rest.number(2) : 1 else { return nil }
            set("targets", targets)
            set("delivered", targets)
        }
        for (flag, field) in [(KeptFlags.by, "by"), (.tp, "tp")] where flags.contains(flag) {
            guard let text = rest.number(1).flatMap({ rest.bytes($0) }) else { return nil }
            fields[field] = Array(text)
        }
        let content = Array(rest.left)
        let frame = KeptFlags.frame
        let before = Array(frame.before.replacing("%s", with: "\(timestamp)").utf8)
        let payload = flags.contains(.framed) ? before + content + Array(frame.after.utf8) : content
        fields["payload"] = payload
        if PushContent(stored: payload).reachesSilent { set("silent", "1") }
        self.fields = StoredHash(fields)
    }

    /// The rest of a record. Numbers have the most significant byte first.
    private struct Bytes {
        private(set) var left: ArraySlice<UInt8>

        init(_ left: ArraySlice<UInt8>) { self.left = left }

        mutating func bytes(_ size: Int64) -> ArraySlice<UInt8>? {
            guard size <= left.count else { return nil }
            defer { left.removeFirst(Int(size)) }
            return left.prefix(Int(size))
        }

        mutating func number(_ size: Int64) -> Int64? { bytes(size)?.reduce(0) { $0 << 8 | Int64($1) } }

        mutating func text(_ size: Int64) -> String? { bytes(size).flatMap { String(validating: $0, as: UTF8.self) } }
    }
}
