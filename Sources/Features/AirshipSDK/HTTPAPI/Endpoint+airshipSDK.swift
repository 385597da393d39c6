import Answers

extension Endpoint {
    static let airshipSDK: [Endpoint] = [
        Endpoint(
            "POST", "/api/contacts/identify/v2", .signedChannel, nil, SDKCalls.identifyContact,
            [.ok(IdentifiedAnswer.self)], isAirship: true),
        Endpoint(
            "POST", "/api/contacts/{contact}", .purpose("contact"), .track, SDKCalls.updateContact,
            [.ok(DoneAnswer.self)],
            isAirship: true),
        Endpoint(
            "GET", "/api/remote-data/app/{app_key}/{platform}", .newChannel, .track, SDKCalls.remoteData, [.raw],
            isAirship: true),
    ]
}
