import LiveActivity

/// The callers that a call admits.
enum Access: Sendable, Hashable {
    case anyone
    case master
    /// App or master secret.
    case server
    /// App or master secret, or the SDK for the channel that the path names (parameter `channel`).
    case channel
    /// App or master secret, or a request that the SDK signed, with or without a channel.
    case newChannel
    /// App or master secret, or a request that the SDK signed for the channel in its header.
    case signedChannel
    /// App or master secret, or the SDK for the channel of its token or signature (`Call.actingChannel`).
    case ownChannel
    /// A caller who names an app and has no secret. The handler asks for a proof.
    case unproven
    /// App or master secret, or the SDK with a token for the value of this parameter of the path, in either case.
    case purpose(String)

    /// Whether the credential opens a call. `channel` is from the path, if it names one.
    func admits(_ credential: Credential, channel: ChannelID?, parameters: [String: String] = [:]) -> Bool {
        switch (self, credential) {
        case (.anyone, _), (.unproven, .unproven): true
        case (.unproven, _), (_, .unproven): false
        // The scope of the call decides (`RequestCheck.rights`).
        case (_, .issued): true
        case (.master, .master): true
        case (.server, .master), (.server, .app): true
        case (.channel, .master), (.channel, .app): true
        case (.channel, .device(let id)), (.channel, .reporter(let id)), (.channel, .signed(.some(let id))):
            id == channel
        case (.newChannel, .master), (.newChannel, .app), (.newChannel, .signed): true
        case (.signedChannel, .signed(.some)), (.signedChannel, .app), (.signedChannel, .master): true
        case (.ownChannel, .device), (.ownChannel, .reporter), (.ownChannel, .signed(.some)): true
        case (.ownChannel, .app), (.ownChannel, .master): true
        case (.purpose, .app), (.purpose, .master): true
        case (.purpose(let name), .bound(let purpose, _)):
            purpose.claim == name && purpose.value == parameters[name]?.lowercased()
        default: false
        }
    }
}
