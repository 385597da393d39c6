internal import Curl
internal import Delivery
internal import Lanes
internal import LiveActivity
internal import Logging

/// Checks whether an app can send through FCM. Nothing reaches a device.
public struct FCMProbe: Sendable {
    private let configuration: FCMClientConfiguration

    /// A message for an address that does not exist. FCM reads it, and looks for the address last.
    private static let message =
        #"{"validate_only":true,"message":{"token":"lamplighter-doctor","data":{"check":"1"}}}"#

    public init(_ configuration: FCMClientConfiguration) { self.configuration = configuration }

    /// Gets an access token, and asks FCM to check a message.
    /// - Throws: the text says what FCM or its token endpoint refuses
    public func check() async throws(FCMProbeError) {
        do throws(FCMClientError) { _ = try configuration.settings(Logger(label: "fcm-probe")) } catch {
            throw FCMProbeError(problem: .configuration, description: error.description)
        }
        let exchange = TokenExchange(
            account: configuration.accounts.current, caFile: configuration.caFile, timeout: configuration.requestTimeout
        )
        let token: AccessToken
        do throws(TokenExchangeError) {
            token = try await exchange.run(now: Int(configuration.clock() / 1_000))
        } catch {
            let isRefused = if case .refused = error { true } else { false }
            throw FCMProbeError(problem: isRefused ? .refused : .unreachable, description: error.description)
        }
        try await checkMessage(token)
    }

    private func checkMessage(_ token: AccessToken) async throws(FCMProbeError) {
        let project = configuration.accounts.current.projectID
        var request = HTTPRequest(
            "POST", "\(configuration.origin)/v1/projects/\(project)/messages:send",
            headers: [("authorization", "Bearer \(token.secret)"), ("content-type", "application/json")],
            body: .bytes(Array(Self.message.utf8)), caFile: configuration.caFile,
            timeout: configuration.requestTimeout)
        request.requiresHTTP2 = true
        let response: HTTPResponse
        do throws(HTTPFailure) { response = try await HTTPClient().send(request, maximumBody: 1 << 20) } catch {
            throw FCMProbeError(problem: .unreachable, description: "\(configuration.origin): \(error.description)")
        }
        guard response.status != 200 else { return }
        let rejection = Rejection(fcm: response.status, FCMErrorBody(response.body), retryAfter: nil)
        let answer = "\(configuration.origin) answers \(rejection.status) \(rejection.reason) for project \(project)"
        switch rejection.verdict {
        // FCM has read the message, and refuses its address alone.
        case .pruneIfOlder: return
        case .pruneToken where rejection.reason == FCMReason.invalidRegistration.rawValue: return
        case .haltApp, .renewCredential:
            throw FCMProbeError(
                problem: .refused,
                description: "\(answer): the Firebase Cloud Messaging API is off, or the account may not send messages")
        case .retry, .pauseApp: throw FCMProbeError(problem: .busy, description: answer)
        default: throw FCMProbeError(problem: .refused, description: answer)
        }
    }
}

public struct FCMProbeError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Problem: Sendable, Hashable, CaseIterable { case configuration, refused, unreachable, busy }

    public let problem: Problem
    public let description: String
}
