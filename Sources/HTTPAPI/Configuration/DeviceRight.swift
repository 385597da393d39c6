/// A right that an app's settings may take from its devices, and so from whoever has the app and the secret in it.
/// Servers with the master secret, or with a credential of their own, have both.
public enum DeviceRight: Sendable, Hashable, CaseIterable {
    /// To set the tags of a channel.
    case tags
    /// To say which named user a channel is of.
    case users

    /// Why a call did not do it, for the caller.
    var refusal: String {
        switch self {
        case .tags: "only servers set tags of this app's channels (defaults.device_tags is false)"
        case .users: "only servers say whose this app's channels are (defaults.device_users is false)"
        }
    }
}
