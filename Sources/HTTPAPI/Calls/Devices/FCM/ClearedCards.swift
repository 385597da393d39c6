import LiveActivity
import Store

/// An update of an app clears its cards on Android. Airship's SDK then removes all names of the channel in one batch,
/// as if their user had swiped the cards away. These names stay, and their cards are started again.
struct ClearedCards: CallGroup {
    private let store: Store
    private let registrations: RegistrationCalls

    init(_ parts: GatewayParts) { (store, registrations) = (parts.store, RegistrationCalls(parts)) }

    /// A card that its user swiped away in the same batch was removed earlier than this before the others, ms.
    private static let spread: Int64 = 5_000

    /// The names that a batch's removals clear, if an update of the app may be the cause: all names that the channel
    /// follows, except names that were removed earlier. Empty: the channel follows another name.
    static func names(_ removals: [(name: ActivityName, at: Int64)], following: Set<ActivityName>) -> [ActivityName] {
        guard let last = removals.map(\.at).max(), following.isSubset(of: removals.map(\.name)) else { return [] }
        let cleared = removals.filter { following.contains($0.name) && $0.at >= last - spread }.map(\.name)
        return Set(cleared).sorted { $0.exact < $1.exact }
    }

    /// Puts those cards of a batch back that an update of the app has cleared.
    /// - Returns: their names, which are not to be removed
    func putBack(_ batch: BatchBody, of channel: ChannelID, _ app: GatewayApp) async throws -> Set<ActivityName> {
        let removals = batch.updates.compactMap { update -> (name: ActivityName, at: Int64)? in
            if case .removeCard(let name, let at, _) = update { (name, at) } else { nil }
        }
        if removals.isEmpty { return [] }
        let following = try await store.names(app.key, followedBy: channel, on: .android)
        let names = Self.names(removals, following: Set(following.keys))
        if names.isEmpty {
            try await store.channels.forgetCleared(app.key, channel)
            return []
        }
        let back = try await store.channels.noteCleared(names, app.key, channel)
        return back.isEmpty ? [] : try await putBack(back, of: channel, app)
    }

    /// Notes the version of a channel's app, and puts the cards back that a batch removed shortly before.
    func note(version: String, of channel: ChannelID, _ app: GatewayApp) async throws {
        let names = try await store.channels.note(version: version, app.key, channel)
        if names.isEmpty { return }
        // The app may have begun a card since.
        let following = try await store.names(app.key, followedBy: channel, on: .android)
        _ = try await putBack(names.filter { following[$0] == nil }, of: channel, app)
    }

    private func putBack(
        _ names: [ActivityName], of channel: ChannelID, _ app: GatewayApp
    ) async throws -> Set<ActivityName> {
        for name in names {
            try await registrations.repeatState(of: name, to: channel, as: .withoutCard(on: .android), app)
        }
        try await store.channels.backAgain(app.key, channel)
        return Set(names)
    }
}
