import FoundationEssentials

/// The name of a process that the settings give none: machine and process id. In containers, several processes of a
/// machine may have the same id and the machine's own name, so there the namespace of the ids is a part of the name.
enum ProcessName {
    /// The kernel's number of the namespace in which a machine starts.
    private static let machineNamespace = "pid:[4026531836]"

    /// - Parameter namespace: what `/proc/self/ns/pid` links to; nil: the system does not tell
    static func of(process id: Int32, on machine: String, namespace: String?) -> String {
        let name = "\(machine)-\(id)"
        guard let namespace, namespace != machineNamespace else { return name }
        return "\(name)-\(namespace.filter(\.isNumber))"
    }

    static func own(on machine: String) -> String {
        of(
            process: ProcessInfo.processInfo.processIdentifier, on: machine,
            namespace: try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid"))
    }
}
