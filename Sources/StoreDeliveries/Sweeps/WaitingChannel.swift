public import LiveActivity
package import StoreGround
package import StoreRegistry

/// A waiting channel, with the push of its retry queue that goes out next and the token that this push would go to now.
public struct WaitingChannel: Sendable, Hashable {
    public var channel: [UInt8]
    public private(set) var push: PushID
    /// The push behind the first one.
    package private(set) var nextPush: PushID?
    /// Attempts of that push for this channel so far.
    public var attempts: Int
    /// The token of its activity, or its start token. Nil if the channel does not follow the name any more.
    public var token: [UInt8]?
    /// The platform of the token. Without a token, the platform for which the channel began to wait, as far as its
    /// retry queue tells it.
    public var platform = Platform.ios
    /// Its device has lost the card, see `PushToken.withoutCard`.
    public private(set) var isWithoutCard = false
    /// The token as its place keeps it.
    public var keptToken: [UInt8]? {
        guard platform.hasOneAddress else { return token }
        return token.map { _ in isWithoutCard ? PushToken.withoutCard : PushToken.ofChannel }
    }
    /// Why it gets nothing now, though it follows the name.
    public var unreachable: Unreachable?
    /// Start of its activity, epoch ms.
    public var startedAt: Int64?
    /// Epoch ms.
    public var registeredAt: Int64 = 0
    /// This token is quarantined.
    public var isQuarantined = false
    /// This token is of the app's other APNs environment.
    public var livesElsewhere = false
    /// The channel follows the name: `token` was its activity's token before `starts` replaced it by its start token.
    public var follows = false
    /// Its user dismissed the name's card, and its next push is a start that respects that.
    public var hasDismissed = false
    /// When its card began (epoch ms), if that was after an `end` of the name was accepted.
    public var followsSince: Int64?
    /// The name's ends, if `followsSince` is known.
    package var closings = Closings()
    /// The card began after the push's sweep, so the push goes without its alert.
    public private(set) var isLate = false
    /// Whether the push behind the first one goes without its alert.
    private var isNextLate = false
    /// The retry queue's header when the token was looked up. Settling compares it. Empty for a channel of a sweep.
    package private(set) var seen: [UInt8]
    /// Its request is open. The answer comes late and is settled under this id.
    public var openID: OpenRequest.ID? { didSet { if let openID { seen = openID.bytes } } }

    /// Most pushes in a channel's retry queue.
    static let mostPushes = ScriptNumbers.queueMost
    /// The header's number is at least this if its first push is late.
    static let oneLate = ScriptNumbers.queueOneLate
    /// The header's number is at least this if two or more pushes are late. It has one unit more for each of them.
    static let moreLate = ScriptNumbers.queueMoreLate
    static let lateUnit = ScriptNumbers.queueLateUnit
    /// The platform's code is in the header's last byte from this bit on. Before it is the count of registrations.
    private static let platformShift: UInt8 = 6

    /// A retry queue, as `shared-queue.lua` describes it: a header of 3 bytes, push ids 16 each.
    package init?(channel: [UInt8], queue: ArraySlice<UInt8>) {
        var rest = queue
        guard queue.count >= 19, (queue.count - 3).isMultiple(of: 16), let number = rest.takeBigEndian(UInt16.self),
            let mark = rest.first, let id = UUIDBytes(bytes: queue.dropFirst(3).prefix(16))
        else { return nil }
        self.channel = channel
        push = PushID(id)
        nextPush = UUIDBytes(bytes: queue.dropFirst(19).prefix(16)).map { PushID($0) }
        attempts = Int(number % (number < Self.moreLate ? Self.oneLate : Self.lateUnit))
        (isLate, isNextLate) = (number >= Self.oneLate, number >= Self.moreLate)
        seen = Array(queue.prefix(3))
        platform = Platform(code: mark >> Self.platformShift)
    }

    /// Takes the push behind the first one if it may supersede that one. It does not if it was stopped, or if the first
    /// has no record any more.
    mutating func takeNext(_ records: [PushID: PushRecord]) {
        guard let nextPush, let first = records[push], let next = records[nextPush],
            next.maySupersede(first), next.maySend(isLate: isNextLate)
        else { return }
        (push, isLate) = (nextPush, isNextLate)
    }

    /// Takes the push that the channel will get: as `takeNext`, and the second one if the first was stopped.
    package mutating func takeSendable(_ records: [PushID: PushRecord]) {
        let first = push
        takeNext(records)
        guard push == first, let nextPush, records[first]?.maySend(isLate: isLate) == false else { return }
        (push, isLate, attempts) = (nextPush, isNextLate, 0)
    }

    /// The push of an open request, whose value in Redis `shared-open.lua` describes.
    package static func openPush(_ value: ArraySlice<UInt8>) -> PushID? {
        UUIDBytes(bytes: value.dropFirst(9).prefix(16)).map { PushID($0) }
    }

    /// A channel of a sweep's page.
    public init(_ page: TokenPage, _ index: Int, of push: PushID) {
        let entry = page.entries[index]
        channel = Array(page.channel(index))
        self.push = push
        attempts = Int(entry.attempt)
        (token, platform) = (Array(page.token(index)), entry.platform)
        (startedAt, registeredAt) = (entry.startedAt, entry.registeredAt)
        seen = []
    }

    /// Whether the push is from before the channel's card.
    public func isNewer(than push: PushRecord) -> Bool {
        followsSince.map { push.isBefore(card: $0, closings.newest(before: $0)) } ?? false
    }
    /// The ends for an audience between the push and the channel's card, as `SendBlocks.endsForSome`.
    public func endsForSome(after push: PushRecord) -> [PushID] {
        followsSince.map { closings.forSome(after: push.sequence, before: $0) } ?? []
    }

    /// Takes the token of an entry, and what is noted about it. A note about another token says nothing.
    package mutating func take(_ entry: Tokens.Entry?, quarantine: Reply, elsewhere: Reply) throws(StoreError) {
        (token, registeredAt) = (entry?.token, entry?.registeredAt ?? 0)
        if let entry { platform = entry.platform }
        isWithoutCard = platform.hasOneAddress && token == PushToken.withoutCard
        (isQuarantined, livesElsewhere) = (false, false)
        guard let token else { return }
        if let mark = try quarantine.optionalBytes() {
            isQuarantined = QuarantineMark(storedValue: mark)?.token == token
        }
        if let hash = try elsewhere.optionalBytes() { livesElsewhere = hash == OtherEnvironment.hash(token)[...] }
    }
}

/// A request whose page was settled before its answer came (docs/adr/0035-open-requests.md).
public struct OpenRequest: Sendable, Hashable {
    /// The name of a request, never used twice: 4 random bytes of its worker and a number.
    public struct ID: Sendable, Hashable {
        package let bytes: [UInt8]

        public init(worker: UInt32, number: UInt32) {
            bytes = bigEndian(worker) + bigEndian(number)
        }
    }

    public var id: ID
    /// The channel as it was when its request left.
    public var channel: WaitingChannel
    /// After this time nothing is sent to the channel because of this request.
    public var length: Duration

    public init(_ id: ID, _ channel: WaitingChannel, for length: Duration) {
        (self.id, self.channel, self.length) = (id, channel, length)
    }
}
