/// The name of a key. Two keys are equal if their bytes are, because Unicode calls some different names equal.
public struct RedisKey: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    public init(_ text: String) { description = text }

    public static func == (a: RedisKey, b: RedisKey) -> Bool { a.description.utf8.elementsEqual(b.description.utf8) }

    public func hash(into hasher: inout Hasher) { for byte in description.utf8 { hasher.combine(byte) } }
}
