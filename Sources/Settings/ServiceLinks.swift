/// The variables that Kubernetes sets in each pod for each service of its namespace. A service called
/// `lamplighter-gateway` has `LAMPLIGHTER_GATEWAY_PORT=tcp://10.96.0.7:8080`, which is the name of a setting.
enum ServiceLinks {
    static func names(_ environment: [String: String]) -> [String] {
        environment.filter { $0.key.hasPrefix("LAMPLIGHTER_") && isLink($0.key, $0.value) }.keys.sorted()
    }

    private static func isLink(_ name: String, _ value: String) -> Bool {
        if name.hasSuffix("_SERVICE_HOST") || name.contains("_SERVICE_PORT") { return true }
        // `…_PORT=tcp://…`, `…_PORT_8080_TCP=tcp://…` and the parts of these.
        if name.hasSuffix("_PORT") { return ["tcp://", "udp://", "sctp://"].contains { value.hasPrefix($0) } }
        guard let port = name.firstRange(of: "_PORT_") else { return false }
        return name[port.upperBound...].first?.isNumber == true
    }

    static func warning(_ names: [String]) -> [String] {
        guard !names.isEmpty else { return [] }
        return [
            "\(names.joined(separator: ", ")): variables of Kubernetes for its services, and ignored; "
                + "enableServiceLinks: false in the pod leaves them out"
        ]
    }
}
