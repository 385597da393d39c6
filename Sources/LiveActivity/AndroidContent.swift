/// `notification.android.live_update` of a publish. Name, event and timestamp are the push's.
public struct AndroidContent: Sendable, Hashable {
    /// The word by which the app chooses how it draws the card. A start needs it.
    public var type: String?
    public var contentState: RawJSON?
    /// Epoch seconds.
    public var dismissalDate: Int?
    /// Epoch seconds after which the content state is out of date. An `end` has none.
    public var staleDate: Int?
    /// FCM keeps one message of a key for a device. Nil: FCM keeps them all.
    public var collapseKey: String?
    /// No device of another platform gets the push.
    public var isAlone: Bool

    public init(
        type: String? = nil, contentState: RawJSON? = nil, dismissalDate: Int? = nil, staleDate: Int? = nil,
        collapseKey: String? = nil, isAlone: Bool = false
    ) {
        (self.type, self.contentState, self.isAlone) = (type, contentState, isAlone)
        (self.dismissalDate, self.staleDate, self.collapseKey) = (dismissalDate, staleDate, collapseKey)
    }
}

/// The content of a push on each platform, as the store keeps it: APNs's payload and, if the push is for Android too, a
/// zero byte and Android's part. JSON has no zero byte, so scripts and records need not know of the second part.
public struct PushContent: Sendable, Hashable {
    /// APNs's payload. A push for Android alone has one too: it says the event and the content state.
    public var payload: [UInt8]
    public var android: AndroidContent?

    public init(payload: [UInt8], android: AndroidContent? = nil) { (self.payload, self.android) = (payload, android) }

    private static let separator: UInt8 = 0

    /// The parts behind the payload: `1` if there is no other platform, type, dismissal date, stale date, collapse key,
    /// content state.
    public var stored: [UInt8] {
        guard let android else { return payload }
        let texts = [
            android.isAlone ? "1" : "", android.type ?? "", android.dismissalDate.map { "\($0)" } ?? "",
            android.staleDate.map { "\($0)" } ?? "", android.collapseKey ?? "",
        ]
        let parts = texts.map { Array($0.utf8) } + [android.contentState?.bytes ?? []]
        return parts.reduce(into: payload) { $0 += [Self.separator] + $1 }
    }

    /// The bytes of APNs's payload in that text.
    public static func payloadBytes(stored bytes: [UInt8]) -> Int { bytes.firstIndex(of: separator) ?? bytes.count }

    public init(stored bytes: some Collection<UInt8>) {
        guard bytes.contains(Self.separator) else {
            self.init(payload: Array(bytes))
            return
        }
        let parts = bytes.split(separator: Self.separator, maxSplits: 6, omittingEmptySubsequences: false)
            .map { Array($0) }
        self.init(payload: parts[0])
        guard parts.count == 7 else { return }
        let texts = parts[1...5].map { $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self) }
        android = AndroidContent(
            type: texts[1], contentState: parts[6].isEmpty ? nil : RawJSON(checked: parts[6]),
            dismissalDate: texts[2].flatMap { Int($0) }, staleDate: texts[3].flatMap { Int($0) },
            collapseKey: texts[4], isAlone: texts[0] == "1")
    }
}
