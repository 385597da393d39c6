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

    /// A batch whose phone's clock is ahead may be repeated for this time, ms. A later batch is a new one, and tells of
    /// cards that were swiped away.
    private static let repetition: Int64 = 3_600_000

    /// A batch's removals that do not count, or may turn out not to count.
    struct Herd: Sendable {
        /// The names that are back, each with the time (ms) of the last removal that does not count.
        var kept: [ActivityName: Int64] = [:]
        /// The names that come back if the app's new version is told within ten minutes.
        var waiting: Set<ActivityName> = []
    }

    /// The names that a batch's removals clear, if an update of the app may be the cause: all names whose card the
    /// channel has, except names that were removed earlier. Nil: the channel has another card.
    /// - Parameters:
    ///   - cards: names whose card is on the device, and does not begin in the batch
    ///   - known: names that the channel follows, or that the batch removed before, if it is repeated
    static func cleared(
        _ removals: [Removal], cards: Set<ActivityName>, known: Set<ActivityName>
    ) -> ClearedNames? {
        guard let last = removals.map(\.at).max(), cards.isSubset(of: removals.map(\.name)) else { return nil }
        let names = removals.filter { known.contains($0.name) && $0.at >= last - spread }.map(\.name)
        return ClearedNames(names, last: last)
    }

    /// The removals of cards that do not begin once more in the same batch, and the names of cards that begin in it.
    static func removals(_ batch: BatchBody) -> (removals: [Removal], begun: Set<ActivityName>) {
        var (removals, begun): ([Removal], Set<ActivityName>) = ([], [])
        for update in batch.updates {
            switch update {
            case .set(.activity(let name), _): begun.insert(name)
            case .removeCard(let name, let at, _):
                begun.remove(name)
                removals.append((name, at))
            case .set, .remove: break
            }
        }
        return (removals.filter { !begun.contains($0.name) }, begun)
    }

    /// Puts those cards of a batch back that an update of the app has cleared.
    /// - Parameter now: epoch ms
    func putBack(
        _ batch: BatchBody, of channel: ChannelID, now: Int64, _ app: GatewayApp
    ) async throws -> Herd {
        let (removals, begun) = Self.removals(batch)
        if removals.isEmpty { return Herd() }
        let following = try await store.names(app.key, followedBy: channel, on: .android)
        let noted = try await store.channels.cleared(app.key, channel)
        if let noted, noted.areBack, now <= noted.last + Self.repetition {
            let repeated = Set(removals.filter { noted.names.contains($0.name) && $0.at <= noted.last }.map(\.name))
            // The version came while the batch had removed only some of them, or its end broke off.
            try await start(repeated.filter { following[$0] != PushToken.withoutCard }, of: channel, app)
            if !repeated.isEmpty { return Herd(kept: repeated.reduce(into: [:]) { $0[$1] = noted.last }) }
        }
        let removed = noted.map { $0.areBack ? [] : $0.names } ?? []
        // A name that waits for its start has no card that could be cleared.
        let cards = Set(following.filter { $1 != PushToken.withoutCard }.keys).subtracting(begun)
        guard let cleared = Self.cleared(removals, cards: cards, known: removed.union(following.keys)) else {
            if !removed.isEmpty { try await store.channels.forgetCleared(app.key, channel) }
            return Herd()
        }
        if cleared.names.isEmpty { return Herd() }
        let back = try await store.channels.noteCleared(cleared, app.key, channel)
        if back.isEmpty { return Herd(waiting: cleared.names) }
        try await putBack(back, of: channel, app)
        return Herd(kept: back.reduce(into: [:]) { $0[$1] = cleared.last })
    }

    /// Puts the cards back that a batch went on removing while the version of its app came.
    func end(_ herd: Herd, of channel: ChannelID, _ app: GatewayApp) async throws {
        if herd.waiting.isEmpty { return }
        let noted = try await store.channels.cleared(app.key, channel)
        if noted?.areBack == true { try await startRemoved(herd.waiting, of: channel, app) }
    }

    /// Notes the version of a channel's app, and puts the cards back that a batch removed shortly before.
    func note(version: String, of channel: ChannelID, _ app: GatewayApp) async throws {
        let names = try await store.channels.note(version: version, app.key, channel)
        if names.isEmpty { return }
        try await startRemoved(names, of: channel, app)
        try await store.channels.backAgain(app.key, channel)
        // A batch that is being applied may have removed others meanwhile. From now on it finds out by itself.
        try await startRemoved(names, of: channel, app)
    }

    /// Starts the cards of names that the channel does not follow. The app may have begun the others since.
    private func startRemoved(
        _ names: some Sequence<ActivityName>, of channel: ChannelID, _ app: GatewayApp
    ) async throws {
        let following = try await store.names(app.key, followedBy: channel, on: .android)
        try await start(names.filter { following[$0] == nil }, of: channel, app)
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
