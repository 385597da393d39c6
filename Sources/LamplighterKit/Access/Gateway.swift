import Foundation
#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends one request and gets one answer.
typealias Transport = @Sendable (URLRequest) async throws -> (Data, HTTPURLResponse)

/// The gateway, as one channel reaches it.
struct Gateway: Sendable {
    let url: URL
    let appKey: String
    let access: DeviceTokens
    let transport: Transport

    /// - Parameters:
    ///   - attestation: App Attest, and where the id of its key is kept. Nil: it is not there.
    ///   - authorize: the app's code, which gets a token or a signature for the channel from its backend.
    init(
        url: URL, appKey: String, clock: KitClock, transport: @escaping Transport = Gateway.session(),
        attestation: (service: any AppAttestService, file: URL)? = nil,
        authorize: @escaping @Sendable (String) async throws -> ChannelAccess
    ) {
        (self.url, self.appKey, self.transport) = (url, appKey, transport)
        let send: AppAttest.Send = { wire, channel, fields in
            var request = try Self.request(wire, at: url, appKey, channel)
            for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
            let (body, response) = try await transport(request)
            return (response.statusCode, body)
        }
        let attest = attestation.map { AppAttest(service: $0.service, file: $0.file, send: send) }
        self.access = DeviceTokens(
            clock: clock, ask: authorize,
            exchange: { signature, channel in try await send(.deviceToken, channel, signature.fields) },
            attest: { channel in
                guard let attest else { throw AppAttest.Failure(description: "App Attest is not there") }
                return try await attest.token(for: channel)
            })
    }

    /// Sends a request for a channel. After a 401 it gets a new token and sends the request once more.
    func send(_ wire: WireRequest, for channel: String) async -> Reply {
        do {
            var (token, isNew) = try await access.token(for: channel)
            while true {
                var request = try Self.request(wire, at: url, appKey, channel)
                request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
                let (body, response) = try await transport(request)
                let status = response.statusCode
                if status == 401 {
                    await access.forget(token)
                    if !isNew {
                        (token, isNew) = try await access.token(for: channel)
                        continue
                    }
                }
                let retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Double($0) }
                return .answered(
                    status: status, retryAfter: retryAfter.flatMap { $0 >= 0 ? $0 : nil },
                    date: Self.date(of: response), body: body)
            }
        } catch {
            return .unreachable("\(error)")
        }
    }

    private static func request(
        _ wire: WireRequest, at base: URL, _ appKey: String, _ channel: String
    ) throws -> URLRequest {
        guard let url = wire.url(at: base) else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.timeoutInterval = 30
        request.httpMethod = wire.method
        request.httpBody = wire.body
        if wire.body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        request.setValue(appKey, forHTTPHeaderField: "X-UA-Appkey")
        request.setValue(channel, forHTTPHeaderField: "X-UA-Channel-ID")
        return request
    }

    private static func date(of response: HTTPURLResponse) -> Int64? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        let date = response.value(forHTTPHeaderField: "Date").flatMap { format.date(from: $0) }
        return date.map { Int64($0.timeIntervalSince1970) * 1_000 }
    }

    /// A session without cookies and cache, which follows no redirect.
    static func session() -> Transport {
        let session = URLSession(configuration: .ephemeral, delegate: Redirects(), delegateQueue: nil)
        return { request in
            let (body, response) = try await session.data(for: request)
            guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
            return (body, response)
        }
    }
}

/// Refuses each redirect: the page at its end is not the gateway's, and must not get the token.
private final class Redirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse, newRequest _: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}
