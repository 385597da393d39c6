public import LiveActivity
import OpenSSL

/// One channel's entry in a bucket. The field is the channel's stored form. The value, big-endian:
///
///     0      flags, below; the highest bit is the layout's version, 0; the two below it are the platform, 0 = APNs
///     1–5    time of the action, ms since 2020-01-01 UTC
///     6      units of two minutes from the activity's start to the action
///     7–9    hash of the activity's id, 0 = not given
///     10     token to the end. Before it, with flag `noted`, 8 bytes: hash and time of another activity's removal, and
///            with flag `twice` 8 bytes more: the same of a second one. Then, with flag `ahead`, 2 bytes: units of two
///            minutes from the action to the activity's later start.
///
/// A tombstone (15 or 23 bytes) has the time of the removal and, instead of a token, a floor of five bytes.
/// Registrations from before the floor are refused for every activity. Between floor and removal only registrations of
/// the removed activity are refused. Behind the floor a second activity's removal may follow, in 8 bytes. So reordered
/// updates of three activities give the same result as ordered ones (shared-removals.lua).
///
/// A prune's tombstone (18 bytes, and 8 more for each noted removal) has the time at which the token was known to be
/// dead. It has the token's hash in the id's place, and the hash of the activity's id behind the floor. The same token
/// must be registered later than that time. With flag `undated` APNs named no time (a 400). Then the time is the time
/// of the prune, and the same token need only be registered later than the pruned record (the floor). Another token (a
/// rotation that arrives late) must not be older than the pruned record. Another activity is a new card, however slow
/// the device's clock is.
///
/// With an 80-byte token a value is 90 bytes, below config/redis.conf's limit of 128 for the compact encoding.
package enum RegistryRecord {
    package static let tombstone = ScriptNumbers.tombstone
    static let frequentPushesOff: UInt8 = 2
    /// Flag of a tombstone that a prune left.
    package static let pruned = ScriptNumbers.pruned
    /// On a registration, the same bit: the activity is scheduled and starts later than the action.
    package static let ahead = ScriptNumbers.ahead
    /// On a registration: another activity's removal is noted. On a removal's tombstone: a prune came before it.
    static let noted = ScriptNumbers.noted
    /// On a registration with `noted`: a second activity's removal is noted. Earlier versions skip such a record.
    static let twice = ScriptNumbers.twice
    package static let version: UInt8 = 0x80
    /// On a registration: the code of the follower's platform is in these bits. Its address is behind them as text.
    static let platformShift: UInt8 = 5

    static let headerLength = 10
    package static let removalLength = ScriptNumbers.removalBytes
    static let aheadLength = 2
    /// Milliseconds of one unit of the age at the action. The most units in a byte, 255, are longer than a life.
    static let ageUnit = ScriptNumbers.ageUnit
    /// 2020-01-01 in epoch milliseconds; five bytes reach to 2054.
    package static let epoch = ScriptNumbers.recordEpoch
    /// How long a registration counts, and how long its key is kept. Milliseconds.
    package struct Lifetime: Sendable, Hashable {
        /// Counted from the activity's start.
        package var length: Int64
        /// How long a bucket is kept after its last change, and a tombstone: longer than registrations that it refuses.
        package var retention: Int64
        /// Apple ends an activity after 8 h. A quarter of an hour more, because clocks differ.
        package static let activity = Lifetime(length: ScriptNumbers.activityLife, retention: 13 * 3_600_000)
        /// A start token has no end of its own. If its app was not opened for a year, the user expects no card.
        static let startToken = Lifetime(length: 365 * 86_400_000, retention: 366 * 86_400_000)
    }

    /// How long a follower is kept whose platform ends no card, from its registration on. Milliseconds: three days.
    package static let longLife: Int64 = 72 * 3_600_000

    package static func stamp(_ milliseconds: Int64) -> Int64 { min(max(milliseconds, epoch) - epoch, 1 << 40 - 1) }

    /// The registration with its time of arrival, if its own time is so old that its card would be over: the device's
    /// clock may be slow. The time from the card's start to the registration stays. Nil: its own time can be used.
    package static func withTimeOfArrival(
        _ registration: Registration, now: Int64, _ lifetime: Lifetime
    ) -> Registration? {
        let startedAt = registration.startedAt ?? registration.registeredAt
        guard lifetime == .activity, max(registration.registeredAt, startedAt) < now - lifetime.length
        else { return nil }
        var registration = registration
        registration.startedAt = now - (registration.registeredAt - startedAt)
        registration.registeredAt = now
        return registration
    }

    /// A reader of the record gets `startedAt`. The bucket must live `retention` milliseconds from now.
    package typealias Encoded = (value: [UInt8], registeredAt: Int64, startedAt: Int64, retention: Int64)

    /// - Returns: nil if the activity's life is over.
    package static func encode(_ registration: Registration, now: Int64, _ lifetime: Lifetime = .activity) -> Encoded? {
        let registeredAt = min(registration.registeredAt, now)
        var start = registration.startedAt ?? registeredAt
        // No platform but APNs ends a card, and apps tell of it once. So the record is like the record of a card that
        // starts later.
        if lifetime == .activity, registration.token.platform.hasOneAddress {
            start = registeredAt + longLife - lifetime.length
        }
        let (age, overflow) = registeredAt.subtractingReportingOverflow(min(start, now + Registration.mostAhead))
        let units = overflow ? 0xFF : max(0, min(age / ageUnit, 0xFF))
        let ahead = overflow ? 0 : max(0, min(-age / ageUnit, 0xFFFF))
        let startedAt = registeredAt + (ahead - units) * ageUnit
        guard stamp(registeredAt) + (ahead - units) * ageUnit + lifetime.length >= stamp(now) else { return nil }
        var value: [UInt8] = []
        value.reserveCapacity(headerLength + aheadLength + registration.token.bytes.count)
        value.append(
            (registration.frequentPushesEnabled == false ? frequentPushesOff : 0) | (ahead > 0 ? self.ahead : 0)
                | registration.token.platform.code << platformShift)
        appendTime(registeredAt, to: &value)
        value.append(UInt8(truncatingIfNeeded: units))
        value.append(contentsOf: activityHash(registration.activityID))
        if ahead > 0 {
            value.append(UInt8(truncatingIfNeeded: ahead >> 8))
            value.append(UInt8(truncatingIfNeeded: ahead))
        }
        value.append(contentsOf: registration.token.bytes)
        return (value, registeredAt, startedAt, lifetime.retention + max(0, startedAt - now))
    }

    package static func encode(_ removal: Untrack, now: Int64) -> [UInt8] {
        var value: [UInt8] = [tombstone]
        appendTime(min(removal.removedAt, now), to: &value)
        return value + [0] + activityHash(removal.activityID) + [0, 0, 0, 0, 0]
    }

    static func appendTime(_ milliseconds: Int64, to value: inout [UInt8]) {
        let stamp = stamp(milliseconds)
        for shift in stride(from: 32, through: 0, by: -8) {
            value.append(UInt8(truncatingIfNeeded: stamp >> Int64(shift)))
        }
    }

    /// Three bytes, zeros for no id. Two ids of one channel and name have the same hash once in sixteen million.
    static func activityHash(_ id: String?) -> [UInt8] {
        guard let id, !id.isEmpty else { return [0, 0, 0] }
        let digest = Array(SHA1Digest(of: id.utf8).prefix(3))
        return digest == [0, 0, 0] ? [0, 0, 1] : digest
    }

    package enum Reading {
        /// A tombstone, or a registration past its life.
        case absent
        /// `tokenOffset` counts from the value's first byte; `registeredAt` is epoch ms. `isInfrequent`: frequent
        /// pushes are off. `minutes`: from the activity's start to the registration; negative if it starts later.
        case live(tokenOffset: Int, registeredAt: Int64, isInfrequent: Bool, minutes: Int32, platform: Platform)
        /// This version of Lamplighter knows no version that writes such bytes.
        case malformed
    }

    /// - Parameters:
    ///   - time: of the record's or the tombstone's action, epoch ms
    ///   - platform: of a registration
    package typealias Action = (time: Int64, isTombstone: Bool, isPruned: Bool, platform: Platform)

    /// The action that a record or a tombstone notes. Nil for bytes that no version writes.
    package static func action(of bytes: UnsafeRawBufferPointer) -> Action? {
        guard bytes.count > headerLength, bytes[0] & version == 0 else { return nil }
        let isTombstone = bytes[0] & tombstone != 0
        let platform = Platform(code: bytes[0] >> platformShift)
        return (time(of: bytes), isTombstone, isTombstone && bytes[0] & pruned != 0, platform)
    }

    /// Epoch ms.
    private static func time(of bytes: UnsafeRawBufferPointer) -> Int64 {
        let high = Int64(bytes[1]) << 32 | Int64(bytes[2]) << 24 | Int64(bytes[3]) << 16
        return epoch + (high | Int64(bytes[4]) << 8 | Int64(bytes[5]))
    }

    /// When an app removed its card, epoch ms. Nil for another record, and for the removal of a card that was pruned
    /// before: it had ended.
    package static func removal(of bytes: UnsafeRawBufferPointer) -> Int64? {
        guard let action = action(of: bytes), action.isTombstone, !action.isPruned, bytes[0] & noted == 0
        else { return nil }
        return action.time
    }

    package static func read(_ value: ArraySlice<UInt8>, now: Int64, _ lifetime: Lifetime = .activity) -> Reading {
        value.withUnsafeBytes { read($0, now: now, lifetime) }
    }

    package static func read(_ bytes: UnsafeRawBufferPointer, now: Int64, _ lifetime: Lifetime) -> Reading {
        guard bytes.count > headerLength, bytes[0] & version == 0 else { return .malformed }
        if bytes[0] & tombstone != 0 { return .absent }
        let isAhead = bytes[0] & ahead != 0
        let removals = (bytes[0] & noted == 0 ? 0 : 1) + (bytes[0] & twice == 0 ? 0 : 1)
        let offset = headerLength + removals * removalLength + (isAhead ? aheadLength : 0)
        guard (1...PushToken.maximumBytes).contains(bytes.count - offset) else { return .malformed }
        let registeredAt = time(of: bytes)
        let age = isAhead ? -(Int64(bytes[offset - 2]) << 8 | Int64(bytes[offset - 1])) : Int64(bytes[6])
        guard registeredAt - age * ageUnit + lifetime.length >= now else { return .absent }
        return .live(
            tokenOffset: offset, registeredAt: registeredAt, isInfrequent: bytes[0] & frequentPushesOff != 0,
            minutes: Int32(age * ageUnit / 60_000), platform: Platform(code: bytes[0] >> platformShift))
    }
}

extension TokenPlace {
    package var lifetime: RegistryRecord.Lifetime { isForStartTokens ? .startToken : .activity }
}

public struct Untrack: Sendable, Hashable {
    public var channel: ChannelID
    public var removedAt: Int64
    /// Nil removes any activity that the channel follows under the name.
    public var activityID: String?

    public init(channel: ChannelID, removedAt: Int64, activityID: String? = nil) {
        self.channel = channel
        self.removedAt = removedAt
        self.activityID = activityID
    }
}
