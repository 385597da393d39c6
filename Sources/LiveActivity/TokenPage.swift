/// Up to about a thousand tokens in one buffer, read, sent and settled together. It allocates no memory for each token.
public struct TokenPage: Sendable {
    public struct Entry: Sendable, Hashable {
        /// How the entry's request goes out. Entries with the same route are sent together.
        public struct Route: OptionSet, Sendable, Hashable {
            public let rawValue: UInt8
            public init(rawValue: UInt8) { self.rawValue = rawValue }

            /// The request and its answer are kept.
            public static let traced = Route(rawValue: 1)
            /// The entry gets the variant of the push. Of an update it is a start, for a device that has no card.
            public static let variant = Route(rawValue: 2)
            /// The request goes to the app's other environment.
            public static let elsewhere = Route(rawValue: 4)
        }

        /// Where the channel's stored form begins in `bytes`.
        public var offset: UInt32
        public var channelLength: UInt16
        public var tokenLength: UInt16
        /// Attempts before this one; 0 on the first.
        public var attempt: UInt16
        /// The device's user has switched frequent updates off, so the device has a smaller budget.
        public var isInfrequent: Bool
        public var route: Route = []
        /// The platform whose address the token is.
        public var platform: Platform
        /// Minutes from the activity's start to the registration; negative if the activity starts later.
        public var minutes: Int32
        /// Where the token begins in `bytes`.
        public var tokenOffset: UInt32
        /// The time of the registration (`action_ts_ms`), epoch milliseconds. It is compared with a 410's timestamp.
        public var registeredAt: Int64

        /// The device shows no notification of the app.
        public var isSilent: Bool { isInfrequent && platform.offMeansSilent }
        @inlinable public var channelRange: Range<Int> { Int(offset)..<Int(offset) + Int(channelLength) }
        /// When the activity started, epoch milliseconds.
        @inlinable public var startedAt: Int64 { registeredAt - Int64(minutes) * 60_000 }
        @inlinable public var tokenRange: Range<Int> {
            Int(tokenOffset)..<Int(tokenOffset) + Int(tokenLength)
        }
    }

    public private(set) var bytes: [UInt8] = []
    public private(set) var entries: [Entry] = []
    /// The entries' indices in the page of which this page is a part. Nil: it is a whole page.
    public private(set) var numbers: [Int]?

    public init() {}

    public init(reservingEntries entryCount: Int, bytes byteCount: Int) {
        entries.reserveCapacity(entryCount)
        bytes.reserveCapacity(byteCount)
    }

    @inlinable public var count: Int { entries.count }
    @inlinable public var isEmpty: Bool { entries.isEmpty }

    /// The platforms of its entries, in the order of their first entries.
    public var platforms: [Platform] {
        guard let first = entries.first?.platform else { return [] }
        if entries.allSatisfy({ $0.platform == first }) { return [first] }
        return entries.reduce(into: []) { if !$0.contains($1.platform) { $0.append($1.platform) } }
    }

    /// Adds an entry. `channel` is 1 to 65,535 bytes in stored form, and `token` 1 to `PushToken.maximumBytes` bytes.
    public mutating func append(
        channel: some Collection<UInt8>, token: some Collection<UInt8>, registeredAt: Int64, attempt: Int = 0,
        isInfrequent: Bool = false, minutes: Int32 = 0, route: Entry.Route = [], platform: Platform = .ios
    ) {
        let entry = Entry(
            offset: UInt32(bytes.count), channelLength: UInt16(channel.count), tokenLength: UInt16(token.count),
            attempt: UInt16(clamping: attempt), isInfrequent: isInfrequent, route: route, platform: platform,
            minutes: minutes, tokenOffset: UInt32(bytes.count + channel.count), registeredAt: registeredAt)
        bytes.append(contentsOf: channel)
        bytes.append(contentsOf: token)
        entries.append(entry)
    }

    /// Appends an entry from memory that need not outlive the call, for scans that read millions of tokens.
    public mutating func append(
        channel: UnsafeRawBufferPointer, token: UnsafeRawBufferPointer, registeredAt: Int64, isInfrequent: Bool,
        minutes: Int32, platform: Platform
    ) {
        entries.append(
            Entry(
                offset: UInt32(bytes.count), channelLength: UInt16(channel.count), tokenLength: UInt16(token.count),
                attempt: 0, isInfrequent: isInfrequent, platform: platform, minutes: minutes,
                tokenOffset: UInt32(bytes.count + channel.count), registeredAt: registeredAt))
        bytes.append(contentsOf: channel)
        bytes.append(contentsOf: token)
    }

    /// Replaces an entry's token. The new one lies at the end of the buffer.
    public mutating func setToken(_ index: Int, _ token: [UInt8]) {
        (entries[index].tokenOffset, entries[index].tokenLength) = (UInt32(bytes.count), UInt16(token.count))
        bytes += token
    }

    /// Visits each channel in its stored form, in order. The bytes are valid during the call.
    public func forEachChannel(_ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { bytes in
            for entry in entries { body(UnsafeRawBufferPointer(rebasing: bytes[entry.channelRange])) }
        }
    }

    public func channel(_ index: Int) -> ArraySlice<UInt8> { bytes[entries[index].channelRange] }
    public func token(_ index: Int) -> ArraySlice<UInt8> { bytes[entries[index].tokenRange] }

    /// The entry's token as its place keeps it (`PushToken.ofChannel`).
    public func keptToken(_ index: Int) -> [UInt8] {
        guard entries[index].platform.hasOneAddress else { return Array(token(index)) }
        return entries[index].route.contains(.variant) ? PushToken.withoutCard : PushToken.ofChannel
    }

    public subscript(route index: Int) -> Entry.Route {
        get { entries[index].route }
        set { entries[index].route = newValue }
    }

    /// The page with only the entries that `isIncluded` accepts (by index). The buffer stays as it is.
    public func filtered(_ isIncluded: (Int) -> Bool) -> TokenPage {
        var page = self
        page.numbers = nil
        page.entries.removeAll(keepingCapacity: true)
        for index in entries.indices where isIncluded(index) { page.entries.append(entries[index]) }
        return page
    }

    /// Some entries of the page. A sender reports their outcomes under their indices in the whole page (`number`).
    public func part(_ indices: [Int]) -> TokenPage {
        var part = self
        part.entries = indices.map { entries[$0] }
        part.numbers = indices.map(number)
        return part
    }

    /// The index of an entry in the whole page.
    public func number(_ index: Int) -> Int { numbers?[index] ?? index }
}
