import LiveActivity

/// One step of forgetting a channel. Its stored form is a member of the app's list of steps.
struct ForgetStep: Sendable, Hashable {
    /// Epoch ms. Later registrations stay.
    var askedAt: Int64
    /// Stored form.
    var channel: [UInt8]
    /// The one place that is looked at once more. Nil for a request about the whole channel.
    var place: TokenPlace?

    /// Time 8 bytes big-endian ‖ the channel's length 1 ‖ channel ‖ the place's stored form.
    var stored: [UInt8] {
        bigEndian(UInt64(bitPattern: askedAt)) + [UInt8(truncatingIfNeeded: channel.count)] + channel
            + Array((place?.stored ?? "").utf8)
    }

    init(askedAt: Int64, channel: [UInt8], place: TokenPlace? = nil) {
        self.askedAt = askedAt
        self.channel = channel
        self.place = place
    }

    /// Nil for bytes that no version writes.
    init?(stored: [UInt8]) {
        var rest = stored[...]
        guard let time = rest.takeBigEndian(UInt64.self), let length = rest.popFirst(), length > 0,
            rest.count >= Int(length), let text = String(validating: rest.dropFirst(Int(length)), as: UTF8.self)
        else { return nil }
        self.init(askedAt: Int64(bitPattern: time), channel: Array(rest.prefix(Int(length))))
        if text.isEmpty { return }
        guard let place = try? TokenPlace(stored: text) else { return nil }
        self.place = place
    }
}
