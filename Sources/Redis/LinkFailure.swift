/// Why a link is of no use any more.
enum LinkFailure: Error {
    /// The peer is gone, or never was there.
    case broken(String)
    /// The peer speaks something that is not what it promised.
    case protocolViolation(String)
    /// The server said no to AUTH or SELECT.
    case refused(RedisError)
    /// TLS did not come about, and will not without somebody's doing what `remedy` says.
    case insecure(String, remedy: String)

    var why: String {
        switch self {
        case .broken(let text), .protocolViolation(let text): text
        case .refused(let error): error.description
        case .insecure(let text, let remedy): "\(text) (\(remedy))"
        }
    }

    /// The same with words before it that say where.
    func at(_ place: String) -> LinkFailure {
        switch self {
        case .broken(let text): .broken("\(place): \(text)")
        case .insecure(let text, let remedy): .insecure("\(place): \(text)", remedy: remedy)
        case .protocolViolation, .refused: self
        }
    }
}
