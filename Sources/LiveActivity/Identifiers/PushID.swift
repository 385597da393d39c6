/// One accepted publish.
public struct PushID: Hashable, Sendable, CustomStringConvertible {
    public let uuid: UUIDBytes
    public init(_ uuid: UUIDBytes) { self.uuid = uuid }
    public init?(_ text: some StringProtocol) {
        guard let uuid = UUIDBytes(text) else { return nil }
        self.uuid = uuid
    }
    public static func random() -> PushID { PushID(.random()) }
    /// An id that sorts by the time of its request (epoch ms) and by its place there. Schedules of the same time are
    /// committed in the order of their ids.
    public static func ordered(at time: Int64, index: Int) -> PushID { PushID(.ordered(at: time, index: index)) }
    public var description: String { uuid.description }

    /// The form in a content state: 22 characters of URL-safe base64.
    public var short: String { Base64.encodeURL(uuid.bytes) }
    public static let shortLength = 22

    public init?(short text: some StringProtocol) {
        guard text.utf8.count == Self.shortLength, let uuid = Base64.decodeURL(text).flatMap({ UUIDBytes(bytes: $0) })
        else { return nil }
        self.uuid = uuid
    }
}
