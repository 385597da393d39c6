import Answers
import LiveActivity
import Store

/// Contacts and remote config, which Airship's SDK asks for before it updates its channel. urbanairship/ios-library has
/// them in ContactAPIClient, ContactManager, DefaultAirshipContact, RemoteDataAPIClient and RemoteConfig.
extension Handlers {
    /// Older than every operation that waits in the SDK. When a `resolve` brings a new contact id, the SDK drops those
    /// older than this date. It must keep an `identify` from the first launch, which is older than the channel.
    private static let longAssociated = "1970-01-01T00:00:00"

    func identifyContact(_ call: Call) async throws -> Answer {
        let channel = try call.actingChannel()
        let action = try ContactBody.action(call.body.collect())
        if action != .resolve { try call.require(.users) }
        let app = call.app.key
        var user: String?
        switch action {
        case .resolve: user = try await store.channels.namedUser(app, channel)
        case .identify(let named):
            try await store.channels.associate(app, channel, namedUser: named)
            user = named
        case .reset: try await store.channels.disassociate(app, channel, namedUser: nil)
        }
        let contact = user.map { ContactID(of: app, namedUser: $0) } ?? ContactID(of: app, anonymous: channel)
        let associated = action == .resolve ? Self.longAssociated : TimeText.plainText(call.now)
        let body = IdentifiedAnswer(
            contact: ContactAnswer(
                contactID: contact.description, isAnonymous: user == nil, associatedAt: associated),
            token: call.tokens.token(for: channel, contact: contact, now: call.now),
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
        try await store.channels.tag(call.app.key, [channel], change)
        return Answer(200, DoneAnswer())
    }

    /// Tells the SDK which addresses to call: this gateway, for everything. Only the SDK reads it.
    func remoteData(_ call: Call) async throws -> Answer {
        guard call.parameter("app_key") == call.app.key.rawValue else { throw APIError.notFound }
        guard let url = configuration.publicURL else {
            let remedy = "set `gateway.public_url` to the address at which devices reach this gateway"
            throw APIError(404, "There is no remote config: \(remedy).")
        }
        return RemoteConfig.answer(url: url)
    }
}
