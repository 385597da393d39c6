import LiveActivity

/// Keys of what operators decide about: quarantined tokens, dead letters, and the counts that the prune guard judges by.
extension Keyspace {
    /// Answers of APNs to one app, by minute.
    func answers(_ app: AppKey) -> String { "\(prefix):g:{\(app)}" }
    /// Quarantined channels of a name: `QuarantineMark` by channel.
    func quarantine(_ tag: String) -> String { "\(prefix):x:\(tag)" }
    /// The app's names that hold quarantined tokens, by the time (epoch ms) at which their marks expire.
    func quarantinedNames(_ app: AppKey) -> String { "\(prefix):xn:{\(app)}" }
    /// Channels whose token lives in the app's other APNs environment: the token's hash by channel.
    func otherEnvironment(_ tag: String) -> String { "\(prefix):e:\(tag)" }
    /// The app's pushes that gave something up, by time (epoch ms).
    func deadIndex(_ app: AppKey) -> String { "\(prefix):d:{\(app)}" }
    /// What one push gave up: reasons with their counts, where it stopped.
    func deadLetter(_ tag: String, _ id: PushID) -> String { deadLetterPrefix(tag) + id.description }
    func deadLetterPrefix(_ tag: String) -> String { "\(prefix):dl:\(tag):" }
    /// The channels it gave up, the first so many.
    func deadChannels(_ tag: String, _ id: PushID) -> String { "\(deadLetter(tag, id)):c" }
}
