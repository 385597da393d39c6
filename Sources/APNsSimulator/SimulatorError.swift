/// Why a simulator did not start.
public enum SimulatorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A value of the configuration, the faults or the scenario: where it stands and what would be right.
    case configuration(field: String, String)
    /// The certificate directory: the path and what went wrong.
    case files(path: String, String)
    case cannotListen(host: String, port: Int, String)

    public var description: String {
        switch self {
        case .configuration(let field, let text): "\(field): \(text)"
        case .files(let path, let text): "\(path): \(text)"
        case .cannotListen(let host, let port, let text):
            "cannot listen on \(APNsSimulator.authority(host, port)): \(text)"
        }
    }
}
