import LiveActivity
import Store

/// An update of an app clears its cards on Android. Airship's SDK then removes all names of the channel in one batch,
/// as if their user had swiped the cards away. These names stay, and their cards are started again.
struct ClearedCards: CallGroup {
    typealias Removal = (name: ActivityName, at: Int64)

    private let store: Store
    private let registrations: RegistrationCalls

    init(_ parts: GatewayParts) { (store, registrations) = (parts.store, RegistrationCalls(parts)) }

    /// A card that its user swiped away in the same batch was removed earlier than this before the others, ms.
    private static let spread: Int64 = 5_000

    /// The names that a batch's removals clear, if an update of the app may be the cause: all names that the channel
    /// follows, except names that were removed earlier. Nil: the channel follows another name.
    /// - Parameter removed: names that the batch removed before, if it is repeated
    static func cleared(
        _ removals: [Removal], following: Set<ActivityName>, removed: Set<ActivityName>
    ) -> ClearedNames? {
        guard let last = removals.map(\.at).max(), following.isSubset(of: removals.map(\.name)) else { return nil }
        let known = following.union(removed)
        let names = removals.filter { known.contains($0.name) && $0.at >= last - spread }.map(\.name)
        return ClearedNames(names, last: last)
    }

    /// Puts those cards of a batch back that an update of the app has cleared.
    /// - Returns: their names, each with the time (ms) of the last removal that does not count
    func putBack(
        _ batch: BatchBody, of channel: ChannelID, _ app: GatewayApp
    ) async throws -> [ActivityName: Int64] {
        let removals = batch.updates.compactMap { update -> Removal? in
            if case .removeCard(let name, let at, _) = update { (name, at) } else { nil }
        }
        if removals.isEmpty { return [:] }
        let following = try await store.names(app.key, followedBy: channel, on: .android)
        let noted = try await store.channels.cleared(app.key, channel)
        if let noted, noted.areBack {
            let repeated = Set(removals.filter { noted.names.contains($0.name) && $0.at <= noted.last }.map(\.name))
            // The version came while the batch had removed only some of them.
            try await start(repeated.filter { following[$0] == PushToken.ofChannel }, of: channel, app)
            if !repeated.isEmpty { return Dictionary(uniqueKeysWithValues: repeated.map { ($0, noted.last) }) }
        }
        let removed = noted.map { $0.areBack ? [] : $0.names } ?? []
        guard let cleared = Self.cleared(removals, following: Set(following.keys), removed: removed) else {
            if !removed.isEmpty { try await store.channels.forgetCleared(app.key, channel) }
            return [:]
        }
        if cleared.names.isEmpty { return [:] }
        let back = try await store.channels.noteCleared(cleared, app.key, channel)
        if back.isEmpty { return [:] }
        try await putBack(back, of: channel, app)
        return Dictionary(uniqueKeysWithValues: back.map { ($0, cleared.last) })
    }

    /// Notes the version of a channel's app, and puts the cards back that a batch removed shortly before.
    func note(version: String, of channel: ChannelID, _ app: GatewayApp) async throws {
        let names = try await store.channels.note(version: version, app.key, channel)
        if names.isEmpty { return }
        // The app may have begun a card since.
        let following = try await store.names(app.key, followedBy: channel, on: .android)
        try await putBack(names.filter { following[$0] == nil }, of: channel, app)
    }

    private func putBack(_ names: [ActivityName], of channel: ChannelID, _ app: GatewayApp) async throws {
        try await start(names, of: channel, app)
        try await store.channels.backAgain(app.key, channel)
    }

    private func start(
        _ names: some Sequence<ActivityName>, of channel: ChannelID, _ app: GatewayApp
    ) async throws {
        for name in names {
            try await registrations.repeatState(of: name, to: channel, as: .withoutCard(on: .android), app)
        }
    }
}
