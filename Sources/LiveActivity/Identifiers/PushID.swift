/// One accepted publish.
public struct PushID: Hashable, Sendable, CustomStringConvertible {
    public let uuid: UUIDBytes
    public init(_ uuid: UUIDBytes) { self.uuid = uuid }
    public init?(_ text: some StringProtocol) {
        guard let uuid = UUIDBytes(text) else { return nil }
        self.uuid = uuid
    }
    public static func random() -> PushID { PushID(.random()) }
    public var description: String { uuid.description }
}
