/// The reason why a simulator did not start.
public enum SimulatorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A wrong value of the configuration, faults or scenario, or an unusable file: its field or path, and the cause.
    case configuration(field: String, String)
    case cannotListen(host: String, port: Int, String)

    public var description: String {
        switch self {
        case .configuration(let field, let text): "\(field): \(text)"
        case .cannotListen(let host, let port, let text):
            "cannot listen on \(APNsSimulator.authority(host, port)): \(text)"
        }
    }
}
