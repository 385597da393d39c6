package import Redis
package import StoreGround

/// A reason not to send to a channel now. Each is a key on the name's slot, usually absent.
public enum SendBlock: Sendable, Hashable, CaseIterable {
    /// The channel waits for an older push, so this push joins its retry queue.
    case waiting
    /// The channel registered during the sweep, so the catch-up covers it.
    case catchingUp
    /// The token of this entry is quarantined, so nothing is sent to it.
    case quarantined
    /// The token of this entry is of the app's other APNs environment.
    case elsewhere
    /// The card began after an `end` of the name was accepted, so an older end is not for it.
    case newFollower
}

extension SendBlock {
    package func key(_ keys: Keyspace, _ tag: String) -> RedisKey {
        switch self {
        case .waiting: keys.retryQueues(tag)
        case .catchingUp: keys.catchUp(tag)
        case .quarantined: keys.quarantine(tag)
        case .elsewhere: keys.otherEnvironment(tag)
        case .newFollower: keys.newFollowers(tag)
        }
    }

    /// Channels with the mark are members of a sorted set, otherwise fields of a hash.
    package var isScored: Bool {
        switch self {
        case .waiting, .quarantined, .elsewhere: false
        case .catchingUp, .newFollower: true
        }
    }
}
