/// The content of a push on a platform that has one of its own. Name, event and timestamp are the push's.
public struct PlatformContent: Sendable, Hashable {
    /// The word by which the app chooses how it draws the card. A start needs it.
    public var type: String?
    public var contentState: RawJSON?
    /// Epoch seconds.
    public var dismissalDate: Int?
    /// Epoch seconds after which the content state is out of date. An `end` has none.
    public var staleDate: Int?
    /// The platform keeps one message of a key for a device. Nil: it keeps them all.
    public var collapseKey: String?
    /// It also goes to devices whose user lets the app show no notification.
    public var reachesSilent: Bool

    public init(
        type: String? = nil, contentState: RawJSON? = nil, dismissalDate: Int? = nil, staleDate: Int? = nil,
        collapseKey: String? = nil, reachesSilent: Bool = false
    ) {
        (self.type, self.contentState) = (type, contentState)
        (self.dismissalDate, self.staleDate, self.collapseKey) = (dismissalDate, staleDate, collapseKey)
        self.reachesSilent = reachesSilent
    }

    /// All of it is in the payload, as on APNs.
    public static let payload = PlatformContent()
}

/// The content of a push on each platform, as the store keeps it: APNs's payload and, if the push is for another
/// platform too, a zero byte and that platform's part. JSON has no zero byte, so scripts and records need not know of
/// the second part.
public struct PushContent: Sendable, Hashable {
    /// APNs's payload. A push for another platform alone has one too: it says the event and the content state.
    public var payload: [UInt8]
    /// By platform. Its keys are the platforms whose devices the push is for.
    public var contents: [Platform: PlatformContent]

    /// It also goes to devices whose user lets the app show no notification.
    public var reachesSilent: Bool { contents.values.contains(where: \.reachesSilent) }

    /// The contents of a push for iOS alone.
    public static let ofPayload: [Platform: PlatformContent] = [.ios: .payload]

    public init(payload: [UInt8], contents: [Platform: PlatformContent] = ofPayload) {
        (self.payload, self.contents) = (payload, contents)
    }

    private static let separator: UInt8 = 0
    /// The platform of the part behind the payload. It is part of the stored format.
    private static let other = Platform.all.first(where: \.hasOwnContent)

    /// The parts behind the payload: `1` if there is no other platform, type, dismissal date, stale date, `1` if it
    /// reaches silent devices, collapse key, content state.
    public var stored: [UInt8] {
        guard let content = Self.other.flatMap({ contents[$0] }) else { return payload }
        let texts = [
            contents.count == 1 ? "1" : "", content.type ?? "", content.dismissalDate.map { "\($0)" } ?? "",
            content.staleDate.map { "\($0)" } ?? "", content.reachesSilent ? "1" : "", content.collapseKey ?? "",
        ]
        let parts = texts.map { Array($0.utf8) } + [content.contentState?.bytes ?? []]
        return parts.reduce(into: payload) { $0 += [Self.separator] + $1 }
    }

    /// The bytes of APNs's payload in that text.
    public static func payloadBytes(stored bytes: [UInt8]) -> Int { bytes.firstIndex(of: separator) ?? bytes.count }

    public init(stored bytes: some Collection<UInt8>) {
        guard bytes.contains(Self.separator) else {
            self.init(payload: Array(bytes))
            return
        }
        let parts = bytes.split(separator: Self.separator, maxSplits: 7, omittingEmptySubsequences: false)
            .map { Array($0) }
        self.init(payload: parts[0])
        guard parts.count == 8, let other = Self.other else { return }
        let texts = parts[1...6].map { $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self) }
        if texts[0] == "1" { contents = [:] }
        contents[other] = PlatformContent(
            type: texts[1], contentState: parts[7].isEmpty ? nil : RawJSON(checked: parts[7]),
            dismissalDate: texts[2].flatMap { Int($0) }, staleDate: texts[3].flatMap { Int($0) },
            collapseKey: texts[5], reachesSilent: texts[4] == "1")
    }
}
