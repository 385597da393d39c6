internal import Curl

/// Checks whether an APNs endpoint can be reached: name, port, certificate, HTTP/2. It sends no provider token and no
/// push.
public enum APNsProbe {
    public enum Finding: Sendable, CustomStringConvertible {
        /// The server answers in HTTP/2. The status is an error as expected, because the check asks for nothing.
        case reachable(status: Int, after: Duration)
        case unresolvable(String)
        case refused(String)
        case timeout(String)
        /// The certificate is not trusted or belongs to another host, or the handshake failed.
        case untrusted(String)
        case notHTTP2(String)
        case other(String)

        public var isReachable: Bool {
            if case .reachable = self { true } else { false }
        }

        public var description: String {
            switch self {
            case .reachable(let status, let duration):
                "answers in HTTP/2 (status \(status)) after \(Int(duration / .milliseconds(1))) ms"
            case .unresolvable(let words), .refused(let words), .timeout(let words), .untrusted(let words),
                .notHTTP2(let words), .other(let words):
                words
            }
        }
    }

    /// Checks one endpoint.
    /// - Parameters:
    ///   - origin: `https://host[:port]`
    ///   - caFile: PEM file of the root certificates; nil: the system's
    public static func check(
        origin: String, caFile: String? = nil, timeout: Duration = .seconds(10)
    ) async -> Finding {
        guard APNsConfiguration.isOrigin(origin) else { return .other(APNsClientError.origin(origin).description) }
        var request = HTTPRequest("GET", origin + "/", caFile: caFile, timeout: timeout)
        request.requiresHTTP2 = true
        let start = ContinuousClock.now
        do {
            let response = try await HTTPClient().send(request, maximumBody: 1 << 20)
            return .reachable(status: response.status, after: ContinuousClock.now - start)
        } catch {
            return switch error.kind {
            case .unresolvable: .unresolvable(error.description)
            case .refused: .refused(error.description)
            case .timeout: .timeout(error.description)
            case .tls: .untrusted(error.description)
            case .http2Unavailable: .notHTTP2(error.description)
            case .cancelled, .other: .other(error.description)
            }
        }
    }
}
