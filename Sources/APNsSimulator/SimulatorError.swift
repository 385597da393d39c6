/// The reason why a simulator did not start.
public enum SimulatorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A wrong value of the configuration, the faults or the scenario: its field, and the expected value.
    case configuration(field: String, String)
    /// A problem with files: the path and the cause.
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
