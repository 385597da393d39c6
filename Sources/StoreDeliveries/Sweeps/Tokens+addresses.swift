public import LiveActivity
import Redis
public import StoreGround
public import StoreRegistry

/// Why a channel gets nothing now, on a platform where its address is kept once for all names. The raw values are
/// reasons in the ledger.
public enum Unreachable: String, Sendable, Hashable {
    /// The channel told of none, or of one that is dead.
    case noAddress = "NoAddress"
    /// Its user lets the app show no notification.
    case notificationsOff = "NotificationsOff"
    /// The prune guard does not believe that the address is dead.
    case quarantined = "Quarantined"
}

extension Tokens {
    /// Gives the followers of a page their addresses, where these are kept with the channels. One round trip for each
    /// such platform, none for a page without them.
    /// - Parameter push: Nil: nothing is sent, and an address that gets nothing is in the page, too
    /// - Returns: the page, and why some of its entries, by index, get nothing
    public func addressed(
        _ app: AppKey, _ page: TokenPage, for push: PushRecord? = nil
    ) async throws(StoreError) -> (page: TokenPage, unreachable: [Int: Unreachable]) {
        var (page, unreachable) = (page, [Int: Unreachable]())
        let followers = page.entries.indices.filter { page.entries[$0].platform.hasOneAddress }
            .map { ($0, page.entries[$0].platform) }
        if followers.isEmpty { return (page, unreachable) }
        for (index, address) in try await addresses(app, of: followers, ChannelList(page)) {
            let platform = page.entries[index].platform
            let reason = address.refusal(of: push, on: platform)
            if let reason { unreachable[index] = reason }
            // A copy of the followers has to have each address that is known, or it cannot be registered again.
            let isCopied = push == nil && !address.token.isEmpty
            guard reason == nil || isCopied else { continue }
            if page.token(index).elementsEqual(PushToken.withoutCard) { page[route: index].insert(.variant) }
            page.setToken(index, address.token)
        }
        return (page, unreachable)
    }

    /// The entries whose channel has told another address than the page has.
    public func moved(
        _ app: AppKey, _ page: TokenPage, _ indices: [Int], for push: PushRecord
    ) async throws(StoreError) -> [Int] {
        let followers = indices.map { ($0, page.entries[$0].platform) }
        return try await addresses(app, of: followers, ChannelList(page)).compactMap { index, address in
            let isReached = address.refusal(of: push, on: page.entries[index].platform) == nil
            return isReached && address.token != Array(page.token(index)) ? index : nil
        }
    }

    /// The addresses of followers, by their indices among the channels, on platforms where these are kept with the
    /// channels. One round trip for each such platform.
    func addresses(
        _ app: AppKey, of followers: [(index: Int, platform: Platform)], _ channels: ChannelList
    ) async throws(StoreError) -> [(Int, Address)] {
        var found: [(Int, Address)] = []
        for platform in Set(followers.map(\.platform)) where platform.hasOneAddress {
            let indices = followers.compactMap { $0.platform == platform ? $0.index : nil }
            found += zip(indices, try await addresses(app, platform, channels.part(indices)))
        }
        return found
    }

    /// Why nothing can be sent to a follower on a platform. Nil: it can be sent to.
    package func unreachable(
        _ app: AppKey, _ platform: Platform, _ channel: [UInt8]
    ) async throws(StoreError) -> Unreachable? {
        guard platform.hasOneAddress else { return nil }
        return try await addresses(app, platform, ChannelList([channel])).first?.unreachable
    }

    /// The address of a channel as it is now. One that nothing may be sent to is kept all the same.
    struct Address {
        /// Empty: none is known.
        let token: [UInt8]
        let unreachable: Unreachable?

        /// Why a push does not go to the address. Nil: it does.
        func refusal(of push: PushRecord?, on platform: Platform) -> Unreachable? {
            unreachable.flatMap { push?.passes($0, on: platform) == true ? nil : $0 }
        }
    }

    /// The present addresses of channels.
    func addresses(
        _ app: AppKey, _ platform: Platform, _ channels: ChannelList
    ) async throws(StoreError) -> [Address] {
        let place = keys.place(app, .addresses(on: platform))
        let quarantine = keys.quarantine(place.tag)
        let (entries, _, more) = try await lookup(place, channels, and: [RedisCommand("EXISTS", quarantine)])
        // The usual case: no address of the app is quarantined.
        var marks: [Reply]?
        if try more.values(.flag("quarantine")) {
            let fields = channels.indices.map { RedisArgument.bytes(Array(channels[$0])) }
            let replies = try await redis.run("HMGET", quarantine, fields).array()
            try StoreError.check(replies.count, of: "HMGET", is: fields.count)
            marks = replies
        }
        var found: [Address] = []
        for (index, entry) in entries.enumerated() {
            let mark = try marks?[index].optionalBytes()
            let reason: Unreachable? =
                if let entry {
                    mark.map { QuarantineMark(storedValue: $0)?.token == entry.token } == true
                        ? .quarantined : entry.unreachable
                } else { .noAddress }
            found.append(Address(token: entry?.token ?? [], unreachable: reason))
        }
        return found
    }
}

extension Tokens.Entry {
    /// The reason why an address is unreachable: its user lets the app show no notification.
    var unreachable: Unreachable? { isInfrequent && platform.offMeansSilent ? .notificationsOff : nil }
}

extension PushRecord {
    /// Whether the push goes to a channel on the platform in spite of the reason.
    public func passes(_ reason: Unreachable, on platform: Platform) -> Bool {
        reason == .notificationsOff && contents[platform]?.reachesSilent == true
    }
}
