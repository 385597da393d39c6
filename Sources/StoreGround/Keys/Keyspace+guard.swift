package import LiveActivity
package import Redis

extension Keyspace {
    /// APNs's verdicts on an app's tokens, by minute.
    package func verdicts(_ key: AppPlatform) -> RedisKey {
        self.key("g:{\(key.app)}" + (key.platform == .ios ? "" : ":\(key.platform.code)"))
    }
    /// Quarantined channels of a name: `QuarantineMark` by channel.
    package func quarantine(_ tag: String) -> RedisKey { key("x", tag) }
    /// The app's names that hold quarantined tokens, by the time (epoch ms) at which their marks expire.
    package func quarantinedNames(_ app: AppKey) -> RedisKey { key("xn:{\(app)}") }
    /// Channels whose token is of the app's other APNs environment, with the token's hash.
    package func otherEnvironment(_ tag: String) -> RedisKey { key("e", tag) }
    /// The app's pushes that have a dead letter, by time (epoch ms).
    package func deadIndex(_ app: AppKey) -> RedisKey { key("d:{\(app)}") }
    /// The dead letter of one push: reasons with their counts, and the positions where it stopped.
    package func deadLetter(_ tag: String, _ id: PushID) -> RedisKey {
        RedisKey(deadLetterPrefix(tag) + id.description)
    }
    package func deadLetterPrefix(_ tag: String) -> String { "\(prefix):dl:\(tag):" }
    /// The first channels whose tokens were pruned by a push (`DeadLetters.mostPruned`), with APNs's reasons.
    package func pruned(_ tag: String, _ id: PushID) -> RedisKey { RedisKey(prunedPrefix(tag) + id.description) }
    package func prunedPrefix(_ tag: String) -> String { "\(prefix):pr:\(tag):" }
    /// Pushes of a name whose dead letters are not on the app's list yet.
    package func unlistedDead(_ tag: String) -> RedisKey { RedisKey(deadLetterPrefix(tag) + "unlisted") }
    /// The first channels that the push gave up (`DeadLetters.mostChannels`).
    package func deadChannels(_ tag: String, _ id: PushID) -> RedisKey { RedisKey("\(deadLetter(tag, id)):c") }
}
