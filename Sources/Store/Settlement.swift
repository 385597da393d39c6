import LiveActivity
import Redis

/// The ledger's fields that a target can end in.
public enum SettledField: String, Sendable, Hashable, CaseIterable {
    case delivered, pruned, failed, superseded, expired, skipped
}

/// What one page comes to, to be settled in one script. Built by the worker from the page's outcomes.
public struct Settlement: Sendable {
    /// The page's place in its shard; nil for retries and for prunes that were applied later.
    public var range: Range<ScanPosition>?
    /// Tokens read for the first time.
    public var targets = 0
    public var counts: [SettledField: Int] = [:]
    /// Retried tokens by how they end. The script counts each of them itself, and only if it was still waiting.
    public private(set) var finished: [SettledField: Int] = [:]
    public var retries = 0
    public var duplicatesPossible = 0
    /// Answers other than 200, by reason.
    public var errors: [String: Int] = [:]
    /// Stops the push early, for this reason.
    public var stop: String?
    private(set) var operations: [RedisArgument] = []
    /// Prunes in `operations`, which whoever settles applies next.
    private(set) var prunes = 0

    public init(range: Range<ScanPosition>? = nil) { self.range = range }

    public mutating func count(_ field: SettledField, _ number: Int = 1) { counts[field, default: 0] += number }
    public mutating func count(error reason: String) { errors[reason, default: 0] += 1 }

    /// A token of the page that is dead: its prune is owed until it has been applied and struck off.
    public mutating func owe(_ prune: Prune) {
        operations += ["owe", .bytes(prune.channel), .bytes(prune.storedValue)]
        prunes += 1
    }

    /// A token of the page that is tried again at `due` (epoch ms).
    public mutating func retry(_ token: RetryToken, due: Int64) {
        operations += ["retry", .int(due), .bytes(token.member)]
    }

    /// A token that waited for its retry is finished.
    public mutating func finish(_ token: RetryToken, as field: SettledField) {
        finished[field, default: 0] += 1
        operations += ["settle", .bytes(token.member), .string(field.rawValue)]
    }

    /// A member of the retry set that cannot be read: nothing can be sent to it.
    mutating func discard(retry member: ArraySlice<UInt8>) {
        operations += ["settle", .bytes(Array(member)), .string(SettledField.failed.rawValue)]
        count(error: "UnreadableRetry")
    }

    /// An owed prune that cannot be read: nothing can be pruned by it.
    mutating func discard(pruneOf channel: ArraySlice<UInt8>) {
        operations += ["strike", .bytes(Array(channel)), .string(SettledField.failed.rawValue)]
        count(error: "UnreadablePrune")
    }

    /// A token that waited for its retry waits again.
    public mutating func postpone(_ token: RetryToken, as next: RetryToken, due: Int64) {
        operations += ["again", .bytes(token.member), .int(due), .bytes(next.member)]
    }

    /// A token that waited for its retry is dead.
    public mutating func owe(_ token: RetryToken, _ prune: Prune) {
        operations += ["dead", .bytes(token.member), .bytes(prune.channel), .bytes(prune.storedValue)]
        prunes += 1
    }

    /// An owed prune was applied: the token counts as pruned, or as failed where the registration is newer.
    public mutating func strike(_ prune: Prune, as field: SettledField) {
        operations += ["strike", .bytes(prune.channel), .string(field.rawValue)]
    }

    var arguments: [RedisArgument] {
        var arguments: [RedisArgument] = []
        func add(_ field: String, _ number: Int) {
            if number != 0 { arguments += ["add", .string(field), .int(number)] }
        }
        add("targets", targets)
        for (field, number) in counts { add(field.rawValue, number) }
        add("retries", retries)
        add("duplicates", duplicatesPossible)
        for (reason, number) in errors { add("e:\(reason)", number) }
        return arguments + operations
    }
}

/// A token that waits for another attempt, as it lies in a push's retry set.
public struct RetryToken: Sendable, Hashable {
    public var channel: [UInt8]
    public var token: [UInt8]
    public var registeredAt: Int64
    /// Attempts made so far.
    public var attempts: Int

    public init(channel: [UInt8], token: [UInt8], registeredAt: Int64, attempts: Int) {
        self.channel = channel
        self.token = token
        self.registeredAt = registeredAt
        self.attempts = attempts
    }

    /// attempts, 2 bytes ‖ registration, 8 ‖ channel's length, 2 ‖ channel ‖ token; numbers big-endian.
    var member: [UInt8] {
        bigEndian(UInt16(clamping: attempts)) + bigEndian(UInt64(bitPattern: registeredAt))
            + bigEndian(UInt16(channel.count))
            + channel + token
    }

    init?(member: ArraySlice<UInt8>) {
        var rest = member
        guard let attempts = rest.takeBigEndian(UInt16.self), let registered = rest.takeBigEndian(UInt64.self),
            let length = rest.takeBigEndian(UInt16.self), (1...ChannelID.maximumBytes + 2).contains(Int(length)),
            (1...PushToken.maximumBytes).contains(rest.count - Int(length))
        else { return nil }
        self.init(
            channel: Array(rest.prefix(Int(length))), token: Array(rest.dropFirst(Int(length))),
            registeredAt: Int64(bitPattern: registered), attempts: Int(attempts))
    }
}

extension Prune {
    /// The 410's timestamp, 8 bytes big-endian, 0 for none ‖ token.
    var storedValue: [UInt8] { bigEndian(UInt64(bitPattern: deadSince ?? 0)) + token }

    init?(channel: ArraySlice<UInt8>, storedValue: ArraySlice<UInt8>) {
        var rest = storedValue
        guard let since = rest.takeBigEndian(UInt64.self), !rest.isEmpty else { return nil }
        self.init(channel: Array(channel), token: Array(rest), deadSince: since == 0 ? nil : Int64(bitPattern: since))
    }
}

func bigEndian(_ number: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
    stride(from: number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
}

extension ArraySlice<UInt8> {
    /// Takes a big-endian number off the front; nil, and nothing taken, if there are too few bytes.
    mutating func takeBigEndian<T: FixedWidthInteger & UnsignedInteger>(_: T.Type) -> T? {
        let size = T.bitWidth / 8
        guard count >= size else { return nil }
        defer { removeFirst(size) }
        return prefix(size).reduce(0) { $0 << 8 | T($1) }
    }
}
