/// The reason why a link cannot be used any more.
enum LinkFailure: Error {
    /// The connection broke or could not be made.
    case broken(String)
    /// The peer sent something that its protocol does not allow.
    case protocolViolation(String)
    /// The server refused AUTH or SELECT.
    case refused(RedisError)
    /// TLS failed. A new attempt also fails until an operator does what `remedy` says.
    case insecure(String, remedy: String)

    var why: String {
        switch self {
        case .broken(let text), .protocolViolation(let text): text
        case .refused(let error): error.description
        case .insecure(let text, let remedy): "\(text) (\(remedy))"
        }
    }

    /// The same failure, with the server's name before the text.
    func at(_ place: String) -> LinkFailure {
        switch self {
        case .broken(let text): .broken("\(place): \(text)")
        case .insecure(let text, let remedy): .insecure("\(place): \(text)", remedy: remedy)
        case .protocolViolation, .refused: self
        }
    }
}
