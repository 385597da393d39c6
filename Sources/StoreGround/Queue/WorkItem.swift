public import LiveActivity
package import Redis

/// A stream entry: a hint that there is work. The name's slot says what it is, and whether it is still to be done.
public struct WorkItem: Sendable, Hashable {
    public enum Part: Sendable, Hashable {
        /// Begin the name's oldest unswept push.
        case name
        /// Begin the name's oldest unswept push, and add the shards again that no stream holds any more.
        case reconcile
        /// One shard of a push that was divided into `count` shards, a power of two. The shard with `index` equal to
        /// `count` is for the followers on other platforms than the first, of all positions.
        case shard(index: Int, count: Int)
        /// The catch-up after a push's shards: channels that registered during the sweep.
        case catchUp
        /// The name's waiting channels that are due, for all of its pushes.
        case retries
        /// The name's broadcasts that are due.
        case broadcast
        /// Late joiners of the name, which get the state that they missed.
        case late
    }

    public var app: AppKey
    public var name: ActivityName
    public var push: PushID
    public var priority: PushPriority
    public var part: Part

    package init(app: AppKey, name: ActivityName, push: PushID, priority: PushPriority, part: Part) {
        self.app = app
        self.name = name
        self.push = push
        self.priority = priority
        self.part = part
    }

    /// Other work on the same name.
    public func about(_ push: PushID, _ part: Part, _ priority: PushPriority? = nil) -> WorkItem {
        WorkItem(app: app, name: name, push: push, priority: priority ?? self.priority, part: part)
    }

    // The entries below are for all pushes of a name, so they name none.
    public static func retries(_ app: AppKey, _ name: ActivityName, _ priority: PushPriority) -> WorkItem {
        WorkItem(app: app, name: name, push: .none, priority: priority, part: .retries)
    }

    public static func broadcast(_ app: AppKey, _ name: ActivityName, _ priority: PushPriority) -> WorkItem {
        WorkItem(app: app, name: name, push: .none, priority: priority, part: .broadcast)
    }

    public static func late(_ app: AppKey, _ name: ActivityName) -> WorkItem {
        WorkItem(app: app, name: name, push: .none, priority: .high, part: .late)
    }

    /// For a name whose outbox waits. Whatever work an entry is for, its worker also empties the outbox.
    package static func outbox(_ app: AppKey, _ name: ActivityName) -> WorkItem {
        WorkItem(app: app, name: name, push: .none, priority: .high, part: .reconcile)
    }

    public var stream: WorkStream {
        switch (part, priority) {
        case (.shard, .high): .shardsHigh
        case (.shard, .low): .shardsLow
        case (_, .high): .namesHigh
        case (_, .low): .namesLow
        }
    }
}

extension PushID {
    /// For an entry or a lease that belongs to no push.
    public static let none = PushID(UUIDBytes(high: 0, low: 0))
}

extension WorkItem.Part {
    /// All shards of a push. If it is split, there is one more for other platforms, the last.
    package static func shards(_ count: Int, isSplit: Bool) -> [WorkItem.Part] {
        (0..<(isSplit ? count + 1 : count)).map { .shard(index: $0, count: count) }
    }

    public var isForOtherPlatforms: Bool {
        if case .shard(let index, let count) = self { index == count } else { false }
    }

    /// `name`, `reconcile`, `3/8`, `c`, `r`, `b` or `l`. The fields of a push's tasks begin with the same text.
    package var text: String {
        switch self {
        case .name: "name"
        case .reconcile: "reconcile"
        case .shard(let index, let count): "\(index)/\(count)"
        case .catchUp: "c"
        case .retries: "r"
        case .broadcast: "b"
        case .late: "l"
        }
    }

    init?(text: String) {
        switch text {
        case "name": self = .name
        case "reconcile": self = .reconcile
        case "c": self = .catchUp
        case "r": self = .retries
        case "b": self = .broadcast
        case "l": self = .late
        default:
            let parts = text.split(separator: "/").compactMap { StoredNumber.read($0) }
            guard parts.count == 2, parts[1] > 0, parts[1].nonzeroBitCount == 1, parts[1] <= 1 << 16,
                (0...parts[1]).contains(parts[0])
            else { return nil }
            self = .shard(index: parts[0], count: parts[1])
        }
    }
}

extension WorkItem {
    /// How many fields and values an entry has, without a handed push.
    static let fieldCount = 8
    package var entry: [RedisArgument] {
        ["v", "1", "t", .string(part.text), "p", .string(push.description), "n", .string(name.rawValue)]
    }

    package init?(app: AppKey, priority: PushPriority, _ fields: StoredHash) {
        guard let part = fields.text("t").flatMap(Part.init(text:)),
            let push = fields.text("p").flatMap({ PushID($0) }),
            let name = fields.text("n").flatMap({ try? ActivityName($0) })
        else { return nil }
        self.init(app: app, name: name, push: push, priority: priority, part: part)
    }

    /// The member of the timer's set: one line of text. The name comes last because it may contain spaces.
    package var member: String { "\(app) \(priority.rawValue) \(push) \(part.text) \(name)" }

    package init?(member: String) {
        let parts = member.parts(between: UInt8(ascii: " "), atMost: 5)
        guard parts.count == 5, let app = try? AppKey(parts[0]),
            let priority = StoredNumber.read(parts[1]).flatMap(PushPriority.init(rawValue:)),
            let push = PushID(parts[2]),
            let part = Part(text: parts[3]), let name = try? ActivityName(parts[4])
        else { return nil }
        self.init(app: app, name: name, push: push, priority: priority, part: part)
    }
}

extension Keyspace {
    package func stream(of item: WorkItem) -> RedisKey { stream(item.app, item.stream, partition(item.name)) }
    package func due(of item: WorkItem) -> RedisKey { due(item.app, partition(item.name)) }
}
