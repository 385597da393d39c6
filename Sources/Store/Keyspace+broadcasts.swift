import LiveActivity

extension Keyspace {
    /// A name's broadcast channel, on the name's slot.
    func broadcast(_ tag: String) -> String { "\(prefix):bc:\(tag)" }
    /// The name's pushes that wait for their broadcast, by sequence.
    func broadcastLine(_ tag: String) -> String { "\(prefix):bt:\(tag)" }
    /// The app's channels: id → name. Their number is counted against APNs's 10,000.
    func broadcastIndex(_ app: AppKey) -> String { "\(prefix):bcn:{\(app)}" }
    /// Who may make and delete channels now, and what is being made.
    func broadcastLease(_ app: AppKey) -> String { "\(prefix):bcl:{\(app)}" }
    /// Channels of the app at APNs that are not ours.
    func broadcastForeign(_ app: AppKey) -> String { "\(prefix):bcf:{\(app)}" }
    /// How many of the app's broadcasts went how.
    func broadcastCounts(_ app: AppKey) -> String { "\(prefix):bct:{\(app)}" }
    /// An app's names whose channel is to be made or deleted, by time (ms).
    func broadcastTimers(_ app: AppKey) -> String { "\(prefix):{q}:\(app):bc" }
}
