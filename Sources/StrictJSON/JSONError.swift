/// A problem of a JSON text or of one of its values, with its place.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Part of a sentence that follows the path, such as `must be a string, not a number`.
    public var message: String
    /// A path such as `notification.ios.live_activity.priority` or `[1].audience.or[0]`. Empty at the root.
    public var path: String
    public var location: JSONLocation

    public init(message: String, path: String, location: JSONLocation) {
        self.message = message
        self.path = path
        self.location = location
    }

    public var description: String {
        let subject = path.isEmpty ? "" : "\(path): "
        return "\(subject)\(message) (line \(location.line), column \(location.column))"
    }
}
