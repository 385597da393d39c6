import Answers
import HTTPTypes
import LiveActivity
import Store
import StrictJSON

/// Calls that only Airship's SDK makes: contacts and remote config, which it asks for before it updates its
/// channel. urbanairship/ios-library has the latter in ContactAPIClient, ContactManager, DefaultAirshipContact,
/// RemoteDataAPIClient and RemoteConfig.
struct SDKCalls: CallGroup {
    /// Older than every operation that waits in the SDK. When a `resolve` brings a new contact id, the SDK drops
    /// operations older than this date. It must keep an `identify` from the first launch, which is older than the
    /// channel.
    private static let longAssociated = "1970-01-01T00:00:00"

    private let channels: Channels
    private let publicURL: String?

    init(_ parts: GatewayParts) { (channels, publicURL) = (parts.store.channels, parts.configuration.publicURL) }

    func identifyContact(_ call: Call) async throws -> Answer {
        let channel = try call.actingChannel()
        let action = try ContactBody.action(call.body.collect())
        if action != .resolve { try call.require(.users) }
        let app = call.app.key
        var user: String?
        switch action {
        case .resolve: user = try await channels.namedUser(app, channel)
        case .identify(let named):
            try await channels.associate(app, channel, namedUser: named)
            user = named
        case .reset: try await channels.disassociate(app, channel, namedUser: nil)
        }
        let contact = user.map { ContactID(of: app, namedUser: $0) } ?? ContactID(of: app, anonymous: channel)
        let associated = action == .resolve ? Self.longAssociated : TimeText.plainText(call.now)
        let body = IdentifiedAnswer(
            contact: ContactAnswer(contactID: contact.description, isAnonymous: user == nil, associatedAt: associated),
            token: call.tokens.token(for: channel, purpose: contact.purpose, now: call.now),
            tokenExpiresIn: Int(SDKTokens.lifetimeMilliseconds))
        return Answer(200, body)
    }

    /// Puts a contact's tags on the channel that sends them, because a device acts only for itself.
    func updateContact(_ call: Call) async throws -> Answer {
        let channel = try call.actingChannel()
        guard ContactID(call.parameter("contact")) != nil else { throw APIError.parameter("contact", "must be a UUID") }
        let change = try ContactBody.update(call.body.collect())
        // Other parts of a contact's update are not used, so the SDK need not hear of them.
        if !change.isEmpty { try call.require(.tags) }
        try await channels.tag(call.app.key, [channel], change)
        return Answer(200, DoneAnswer())
    }

    /// Tells the SDK which addresses to call: this gateway, for everything. Only the SDK reads it.
    func remoteData(_ call: Call) async throws -> Answer {
        guard call.parameter("app_key") == call.app.key.rawValue,
            ChannelBody.deviceTypes.contains(call.parameter("platform"))
        else { throw APIError.notFound }
        guard let url = publicURL else {
            let remedy = "set `gateway.public_url` to the address at which devices reach this gateway"
            throw APIError(404, "There is no remote config: \(remedy).")
        }
        return RemoteConfig.answer(url: url)
    }
}

/// The remote config of Airship's SDK.
private enum RemoteConfig {
    // The SDK stores the date of the config. The gateway always sends the whole config, so one date is enough.
    private static let timestamp = "2026-01-01T00:00:00"
    private static let lastModified = "Thu, 01 Jan 2026 00:00:00 GMT"
    /// Milliseconds: one day instead of the SDK's ten minutes. The SDK resolves its contact before it updates its
    /// channel, unless the last time is this recent. Nothing here depends on the response.
    private static let resolveAge: Int64 = 86_400_000

    /// `analytics_url` is this gateway too, because the SDK would otherwise send its analytics to Airship.
    static func answer(url: String) -> Answer {
        let data: JSON = [
            "airship_config": [
                "device_api_url": .string(url), "remote_data_url": .string(url), "analytics_url": .string(url),
            ],
            "contact_config": ["max_cra_resolve_age_ms": .integer(resolveAge)],
            "fetch_contact_remote_data": false,
        ]
        let payload: JSON = ["type": "app_config", "timestamp": .string(timestamp), "data": data]
        var answer = Answer(200, json: (["ok": true, "payloads": [payload]] as JSON).bytes)
        answer.fields.append((.lastModified, lastModified))
        return answer
    }
}
