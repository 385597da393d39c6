import HTTPTypes
import LiveActivity
import StrictJSON

/// One authenticated request, as its handler sees it.
struct Call: Sendable {
    /// Also the `operation_id` of an error response and the log's `operation`.
    let operation: String
    let endpoint: Endpoint
    /// Decoded parameters of the path.
    let parameters: [String: String]
    let query: [String: String]
    let headers: HTTPFields
    /// `http://host:port` as the caller addressed this gateway, used for links. Empty if the request does not tell.
    let origin: String
    let app: GatewayApp
    let tokens: DeviceTokens
    let credential: Credential
    let body: IncomingBody
    /// Epoch milliseconds at which the request arrived.
    let now: Int64

    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    func name() throws(APIError) -> ActivityName {
        try identified("name") { text throws(IdentifierError) in try ActivityName(text) }
    }

    /// The place where the start tokens of the path's attributes type are registered.
    func startTokens() throws(APIError) -> ActivityName {
        try identified("attributes_type") { text throws(IdentifierError) in
            try checkAttributesType(text)
            return ActivityName(startTokensOf: text)
        }
    }

    func channel() throws(APIError) -> ChannelID {
        try identified("channel") { text throws(IdentifierError) in try ChannelID(text) }
    }

    /// The channel that the caller acts for: the SDK's own, or the one that a server names in a header.
    func actingChannel() throws(APIError) -> ChannelID {
        switch credential {
        case .device(let channel), .signed(.some(let channel)), .contact(_, let channel): return channel
        case .master, .app, .signed(.none):
            guard let channel = headers[.airshipChannel].flatMap({ try? ChannelID($0) }) else {
                throw .parameter("X-UA-Channel-ID", "is required: the channel that the call is for")
            }
            return channel
        }
    }

    private func identified<Value>(
        _ name: String, _ make: (String) throws(IdentifierError) -> Value
    ) throws(APIError) -> Value {
        do throws(IdentifierError) {
            return try make(parameter(name))
        } catch {
            throw .parameter(name, "must be \(error.rule)")
        }
    }
}
