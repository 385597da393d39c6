public import LiveActivity
package import Redis
public import StoreGround

/// One event of an app's stream, or of its queue.
public struct StoredEvent: Sendable, Hashable {
    /// The id of the stream's entry. Its first part is the time (epoch ms) when the event was added.
    public var entry: String
    public var id: String
    /// The word of an `OutgoingEvent.Kind`, maybe of a later version.
    public var kind: String
    /// The event as JSON.
    public var text: String

    /// Whether a text is the id of a stream's entry, such as `1795284000184-0`.
    public static func isEntry(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2
            && parts.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt64($0) != nil }
    }

    /// Whether an id is `0-0`, before which no entry can stand.
    package static func isFirstEntry(_ entry: String) -> Bool {
        entry.split(separator: "-").allSatisfy { UInt64($0) == 0 }
    }

    /// Epoch milliseconds.
    public var addedAt: Int64 { entry.firstIndex(of: "-").flatMap { Int64(entry[..<$0]) } ?? 0 }

    /// Reads an entry of a stream: its id, and its fields with their values.
    init(_ reply: Reply) throws(StoreError) {
        let (entry, values) = try reply.entry()
        let fields = try values.hash()
        guard let id = fields.text("id"), let kind = fields.text("type"), let text = fields.text("event") else {
            throw .corrupt("an outgoing event")
        }
        (self.entry, self.id, self.kind, self.text) = (entry, id, kind, text)
    }

    package var fields: [RedisArgument] { ["id", .string(id), "type", .string(kind), "event", .string(text)] }
}

/// Reads an app's stream of outgoing events. It blocks on a connection of its own.
public struct EventReader: Sendable {
    private static let block: Duration = .seconds(2)

    package let connection: RedisBlockingConnection
    package let redis: RedisClient
    package let keys: Keyspace

    package init(connection: RedisBlockingConnection, redis: RedisClient, keys: Keyspace) {
        self.connection = connection
        self.redis = redis
        self.keys = keys
    }

    /// The position behind the newest event.
    public func end(_ app: AppKey) async throws(StoreError) -> String {
        let newest = try await redis.run("XREVRANGE", keys.events(app), "+", "-", "COUNT", "1")
        return try newest.array().first?.entry().id ?? "0-0"
    }

    /// Events behind a position (`0-0` or the entry of an event), the oldest first, at most `limit`.
    /// - Parameter waits: if there is none, wait two seconds for one.
    public func events(
        _ app: AppKey, after position: String, limit: Int, waits: Bool
    ) async throws(StoreError) -> [StoredEvent] {
        try await connection.read(keys.events(app), after: position, limit: limit, waiting: waits ? Self.block : nil)
            .events
    }

    public func interrupt() async { await connection.interrupt() }
    public func close() { connection.close() }
}

extension RedisBlockingConnection {
    /// Reads a stream of events behind a position. `unreadable` has the entries that no version wrote.
    /// - Parameter waiting: how long to wait for the first one; nil: not at all.
    package func read(
        _ stream: RedisKey, after position: String, limit: Int, waiting: Duration?
    ) async throws(StoreError) -> (events: [StoredEvent], unreadable: [String]) {
        let block: [RedisArgument] = waiting.map { ["BLOCK", .int($0.milliseconds)] } ?? []
        let command = RedisCommand(
            "XREAD", ["COUNT", .int(limit)] + block + ["STREAMS", .key(stream), .string(position)])
        let reply: RedisReply
        do throws(RedisError) {
            reply = try await send(command, blockingFor: waiting ?? .zero)
        } catch {
            throw .redis(error)
        }
        if reply.isNil { return ([], []) }
        var streams = try ReplyValues(Reply(reply))
        let (_, entries) = try streams.last(.any("stream")).values(.any("key"), .any("entries"))
        return try entries.events()
    }
}

extension Reply {
    /// Reads the entries of a stream of events.
    package func events() throws(StoreError) -> (events: [StoredEvent], unreadable: [String]) {
        var (events, unreadable): ([StoredEvent], [String]) = ([], [])
        for entry in try array() {
            do throws(StoreError) {
                events.append(try StoredEvent(entry))
            } catch {
                unreadable.append(try entry.entry().id)
            }
        }
        return (events, unreadable)
    }
}
