public import APNsWire
internal import Curl
import Delivery
internal import Lanes
public import LiveActivity
internal import OpenSSL
internal import StrictJSON

/// Makes, reads, lists and deletes one app's broadcast channels at Apple's management service. Each call uses a
/// connection of its own, because calls are few and may be hours apart.
public struct BroadcastChannelManager: Sendable {
    private let configuration: APNsConfiguration
    private let bundleID: String
    private let tokens: ProviderTokenSource

    /// - Parameter configuration: `origin` is the management service's, not the push service's
    public init(configuration: APNsConfiguration, bundleID: String) throws(APNsClientError) {
        self.init(configuration, bundleID: bundleID, tokens: try configuration.providerTokens())
    }

    init(_ configuration: APNsConfiguration, bundleID: String, tokens: ProviderTokenSource) {
        self.configuration = configuration
        self.bundleID = bundleID
        self.tokens = tokens
    }

    /// Makes a broadcast channel, which counts towards the app's limit of 10,000.
    /// - Throws: after `.unanswered` with `mayHaveHappened`, a channel with an unknown id may exist; `list` shows it
    public func create(_ storage: BroadcastStorage) async throws(BroadcastChannelError) -> BroadcastChannelID {
        let response = try await send(.create(storage))
        guard let text = response.header("apns-channel-id"), let id = try? BroadcastChannelID(text) else {
            throw .unreadable(.create(storage), "no channel id came with the answer")
        }
        return id
    }

    public func read(_ channel: BroadcastChannelID) async throws(BroadcastChannelError) -> BroadcastStorage {
        let response = try await send(.read(channel))
        let policy = (try? JSONDocument(response.body).root.object().required("message-storage-policy").integer())
        guard let policy, let storage = BroadcastStorage.allCases.first(where: { $0.policy == policy }) else {
            throw .unreadable(.read(channel), "no storage policy that is known")
        }
        return storage
    }

    public func delete(_ channel: BroadcastChannelID) async throws(BroadcastChannelError) {
        _ = try await send(.delete(channel))
    }

    public func list() async throws(BroadcastChannelError) -> [BroadcastChannelID] {
        let response = try await send(.list)
        do {
            return try JSONDocument(response.body).root.object().required("channels").array()
                .map { try BroadcastChannelID($0.string()) }
        } catch {
            throw .unreadable(.list, "\(error)")
        }
    }

    // MARK: One request

    private func send(_ request: BroadcastChannelRequest) async throws(BroadcastChannelError) -> HTTPResponse {
        let token: ProviderToken
        do { token = try await tokens.waiting { (source) throws(SigningKeyError) in try source.current() } } catch {
            throw .unsigned("\(error)")
        }
        let response = try await exchange(request, token)
        guard response.status != request.status else { return response }
        let rejection = self.rejection(response)
        let replacement: ProviderToken? =
            switch rejection.verdict {
            case .renewCredential:
                try? await tokens.waiting { (source) throws(SigningKeyError) in try source.renew(ifCurrent: token) }
            case .haltApp:
                try? await tokens.waiting { (source) throws(SigningKeyError) in
                    try source.takeOver(from: token)?.token
                }
            default: nil
            }
        guard let renewed = replacement else { throw .rejected(request, rejection) }
        let second = try await exchange(request, renewed)
        guard second.status == request.status else { throw .rejected(request, self.rejection(second)) }
        return second
    }

    private func exchange(_ request: BroadcastChannelRequest, _ token: ProviderToken)
        async throws(BroadcastChannelError) -> HTTPResponse
    {
        var message = HTTPRequest(
            request.method, configuration.origin + request.path(bundleID: bundleID),
            headers: [("authorization", "bearer \(token.jwt)")] + request.fields.map { ($0.name, $0.value) },
            body: request.body.map { .bytes($0) }, caFile: configuration.caFile,
            timeout: configuration.requestTimeout)
        message.requiresHTTP2 = true
        do {
            return try await HTTPClient().send(message)
        } catch {
            let isUnsent =
                switch error.kind {
                case .transfer(.unresolvable), .transfer(.unconnectable), .transfer(.tls): true
                case .transfer, .http2Unavailable, .privateAddress, .cancelled, .other: false
                }
            throw .unanswered(request, error.description, mayHaveHappened: !isUnsent)
        }
    }

    private func rejection(_ response: HTTPResponse) -> Rejection {
        let now = Int(configuration.clock() / 1_000)
        let retryAfter = response.header("retry-after").flatMap { RetryAfter.seconds($0.utf8, now: now) }
        return response.body.withUnsafeBytes {
            Rejection(LaneAnswer(status: response.status, body: $0, retryAfter: retryAfter))
        }
    }
}
