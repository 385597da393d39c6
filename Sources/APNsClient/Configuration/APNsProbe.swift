public import Curl
internal import Lanes

/// Checks whether an APNs endpoint can be reached: name, port, certificate, HTTP/2. It sends no token and no push.
public enum APNsProbe {
    /// Any answer in HTTP/2 will do: its status is an error, because the check asks for nothing.
    public static func check(
        origin: String, caFile: String? = nil, timeout: Duration = .seconds(10)
    ) async throws(HTTPFailure) {
        guard Origin(origin) != nil else {
            throw HTTPFailure(kind: .other, description: APNsClientError.origin(origin).description)
        }
        var request = HTTPRequest("GET", origin + "/", caFile: caFile, timeout: timeout)
        request.requiresHTTP2 = true
        _ = try await HTTPClient().send(request, maximumBody: 1 << 20)
    }
}
