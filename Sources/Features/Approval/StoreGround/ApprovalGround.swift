package import LiveActivity
package import Redis

/// The keys of proposals. All of an app have one hash tag, so that a script changes a proposal and its lists together.
extension Keyspace {
    package func proposal(_ app: AppKey, _ id: PushID) -> RedisKey { key("pr:{\(app)}:\(id)") }
    /// An app's proposals that wait, by when they lapse (epoch ms). Approved ones that are not published yet come
    /// before them.
    package func openProposals(_ app: AppKey) -> RedisKey { key("pro:{\(app)}") }
    /// An app's proposals that are over, by when they ended (epoch ms).
    package func overProposals(_ app: AppKey) -> RedisKey { key("prx:{\(app)}") }
    /// A person's proposals that are over and whose outcome the person has not read, by when they ended (epoch ms).
    package func unreadProposals(_ app: AppKey, of identity: String) -> RedisKey { key("prn:{\(app)}:\(identity)") }
}

extension Lua {
    package static let proposalWrite = script("proposal-write")
    package static let proposalSettle = script("proposal-settle")
}
