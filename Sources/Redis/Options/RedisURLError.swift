/// The problem of a Redis URL. It never quotes the URL, because a typing error can put a password anywhere.
public struct RedisURLError: Error, Hashable, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }
}
