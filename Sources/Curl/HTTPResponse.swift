public struct HTTPResponse: Sendable {
    public var status: Int
    /// Lowercase names, in the order of arrival.
    public var headers: [(String, String)]
    public var body: [UInt8]

    /// The first header with that lowercase name.
    public func header(_ name: String) -> String? { headers.first { $0.0 == name }?.1 }
}
