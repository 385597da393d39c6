import LiveActivity
import Store

/// The addresses of channels, on platforms where an install has one for all names.
struct AddressBook: CallGroup {
    private let store: Store
    private let registrations: RegistrationCalls

    init(_ parts: GatewayParts) { (store, registrations) = (parts.store, RegistrationCalls(parts)) }

    /// A channel's address, by its registration.
    struct Word: Sendable {
        var channel: ChannelID
        /// Nil: nothing is said of the address.
        var address: PushToken?
        /// Whether the user lets the app show notifications. Nil: as before.
        var showsNotifications: Bool?
        /// Epoch ms.
        var at: Int64
    }

    /// An address that was told again is noted again after this time (ms), so that it lives on.
    private static let renewal: Int64 = 86_400_000

    /// An address starts this much earlier (ms) until the states of its channel's names are on their way to it. If the
    /// call breaks off before, the next one repeats the states.
    private static let lead: Int64 = 3_600_000

    /// Stores addresses that are new, or that were last stored a day ago. Others cost a look.
    /// - Returns: the positions of channels that have no address, neither here nor before
    func note(_ words: [Word], on platform: Platform, _ app: GatewayApp) async throws -> [Int] {
        if words.isEmpty { return [] }
        let place = TokenPlace.addresses(on: platform)
        let (page, former) = try await store.tokens.known(app.key, place, words.map(\.channel.stored))
        var known: [ArraySlice<UInt8>: Int] = [:]
        for index in 0..<page.count { known[page.channel(index)] = index }
        var (changes, moved, missing): ([Registration], [Registration], [Int]) = ([], [], [])
        for (position, word) in words.enumerated() {
            let index = known[word.channel.stored[...]]
            let before = index.map { (token: Array(page.token($0)), isSilent: page.entries[$0].isSilent) }
            let isFresh = index.map { word.at - page.entries[$0].registeredAt < Self.renewal } ?? false
            let isBrokenOff = index.map { page.entries[$0].minutes > 0 } ?? false
            guard let token = word.address else {
                if before == nil { missing.append(position) }
                continue
            }
            let isSilent = word.showsNotifications.map { !$0 } ?? before?.isSilent ?? false
            if let before, isFresh, !isBrokenOff, before == (token.bytes, isSilent) { continue }
            // If many channels come at once, those that never had an address are most likely new.
            let isBack =
                before.map { $0.token != token.bytes || $0.isSilent && !isSilent || isBrokenOff }
                ?? (words.count == 1 || former.contains(word.channel.stored))
            var change = Registration(
                channel: word.channel, token: token, registeredAt: word.at,
                frequentPushesEnabled: isSilent ? false : nil)
            // A silent device too: each state says whether it goes to one (`PushRecord.passes`).
            if isBack {
                moved.append(change)
                change.startedAt = min(word.at, store.time.now()) - Self.lead
            }
            changes.append(change)
        }
        let results = try await registrations.register(changes, in: place, app)
        // An address that is older than the stored one moves nothing.
        let stored = Set(zip(changes, results).filter { $1 == .stored }.map(\.0.channel))
        moved.removeAll { !stored.contains($0.channel) }
        for change in moved { try await repeatStates(change.channel, on: platform, app) }
        if !moved.isEmpty { _ = try await store.registry.track(app.key, place, moved) }
        return missing
    }

    /// Lets the newest state of each name of a channel go to the channel's present address. States that went to the one
    /// before may have reached no device, and none was sent while the channel had no address.
    private func repeatStates(_ channel: ChannelID, on platform: Platform, _ app: GatewayApp) async throws {
        for (name, token) in try await store.names(app.key, followedBy: channel, on: platform) {
            let token: PushToken =
                token == PushToken.withoutCard ? .withoutCard(on: platform) : .ofChannel(on: platform)
            try await registrations.repeatState(of: name, to: channel, as: token, isMoved: true, app)
        }
    }

    /// The channel has no address any more. Its names stay, and wait for the next one.
    /// - Parameter isOff: the device has cleared its cards, so the next address gets each state as a start
    func suspend(
        _ channel: ChannelID, on platform: Platform, isOff: Bool, at time: Int64, _ app: GatewayApp
    ) async throws {
        let place = TokenPlace.addresses(on: platform)
        let (page, former) = try await store.tokens.known(app.key, place, [channel.stored])
        if page.isEmpty && former.isEmpty { return }
        if !page.isEmpty {
            try await registrations.unregister([Untrack(channel: channel, removedAt: time)], from: place, app)
        }
        guard isOff else { return }
        for (name, token) in try await store.names(app.key, followedBy: channel, on: platform)
        where token != PushToken.withoutCard {
            try await registrations.repeatState(
                of: name, to: channel, as: .withoutCard(on: platform), isMoved: true, app)
        }
    }

    /// Stores what registrations under names say of their channels' addresses.
    /// - Returns: the positions of registrations whose channel has no address
    func note(_ tracked: [TrackBody.Tracked], _ app: GatewayApp) async throws -> [Int] {
        var missing: [Int] = []
        for platform in Platform.all where platform.hasOneAddress {
            let positions = tracked.indices.filter { tracked[$0].registration.token.platform == platform }
            let words = positions.map { position in
                let one = tracked[position]
                return Word(
                    channel: one.registration.channel, address: one.address, at: one.registration.registeredAt)
            }
            missing += try await note(words, on: platform, app).map { positions[$0] }
        }
        return missing
    }
}
