/// A service that delivers to devices, such as Apple's. Circuits, counts of verdicts and alarms are kept for each app
/// and platform (docs/adr/0047-platforms.md).
public struct Platform: Sendable, Hashable, CustomStringConvertible {
    /// Its number in a follower's record: 0 to 3.
    public let code: UInt8

    /// - Parameter code: a number from a follower's record. A later version may know more platforms than this one.
    public init(code: UInt8) { self.code = code & Self.mostCode }

    public static let mostCode: UInt8 = 3
    public static let ios = Platform(code: 0)
    public static let android = Platform(code: 1)

    /// By code. Another platform is another name here, and a constant like `ios`.
    private static let names = ["ios", "android"]

    /// All platforms that this version can send to.
    public static let all = names.indices.map { Platform(code: UInt8($0)) }

    /// Its word in keys, logs and answers.
    public var name: String { Self.all.contains(self) ? Self.names[Int(code)] : "platform-\(code)" }
    public var description: String { name }
    /// An install has one address on it, which reaches all of its cards. The address is kept once, with the channel.
    public var hasOneAddress: Bool { self == .android }
    /// A push has a content of its own for it. Other platforms get the payload.
    public var hasOwnContent: Bool { self == .android }
    /// The bit of a record for frequent updates that are off says here that the user lets the app show no notification.
    public var offMeansSilent: Bool { self == .android }
    /// Whether the platform's outcomes are counted beside the sum of all platforms. The outcomes of the first platform
    /// are the rest.
    public var countsApart: Bool { self != .ios }
    /// The type under which the tokens for a start are registered: the start's, or a word for the platform's addresses.
    public func startType(_ attributesType: String?) -> String? {
        hasOneAddress ? TokenPlace.addressesType(self) : attributesType
    }
    /// Reads a platform's word.
    public init?(name: String) {
        guard let code = Self.names.firstIndex(of: name) else { return nil }
        self.init(code: UInt8(code))
    }

    /// The text around the content state in the payload of most pushes: updates that have nothing else. The store keeps
    /// such a payload without its frame.
    public struct Frame: Sendable, Hashable {
        /// `%s`: the timestamp.
        public let before: String
        public let after: String
    }

    /// The frame of APNs's payloads. It is part of the stored format.
    public static let storedFrame = Frame(
        before: #"{"aps":{"timestamp":%s,"event":"update","content-state":"#, after: "}}")
}

/// An app on one platform: everything that the platform's answers decide about is kept under both.
public struct AppPlatform: Sendable, Hashable, CustomStringConvertible {
    public var app: AppKey
    public var platform: Platform

    public init(_ app: AppKey, _ platform: Platform) { (self.app, self.platform) = (app, platform) }

    public var description: String { "\(app)/\(platform)" }
}

/// An account at a platform. FCM's is a project of Google: its quota and its access tokens are those of all apps that
/// send with it.
public struct PlatformAccount: Sendable, Hashable {
    /// The platform's name for the account, such as a project's id.
    public var name: String
    public var platform: Platform

    public init(_ name: String, _ platform: Platform) { (self.name, self.platform) = (name, platform) }
}
