import LiveActivity
import Redis

@testable import Store

/// An entry as a program between Kafka, or a database, and the intake writes it. docs/features/intake.md has the recipe
/// and the place in its source that makes these fields.
struct Bridge {
    let name: String
    /// Whether the recipe gives each record an `Idempotency-Key`.
    let hasKey: Bool
    /// A file of config/bridges, and those of its lines that make these fields.
    let recipe: String
    let lines: [String]
    /// The fields of a record, in the order in which the program writes them.
    let fields: @Sendable (_ number: Int, _ push: String) -> [(String, String)]

    static let all = [redpandaConnect, kafkaConnect, debeziumServer]

    /// The output `redis_streams` writes all metadata of a message, in the random order of a Go map.
    private static let redpandaConnect = Bridge(
        name: "redpanda-connect", hasKey: true, recipe: "redpanda-connect.yaml",
        lines: [
            "body_key: push", "stream: ll:in:{shop}", #"meta key = "%v/%v/%v".format(@kafka_topic, "#, "threads: 1",
            "max_in_flight: 1",
        ]
    ) { number, push in
        [
            ("kafka_offset", "\(4_200 + number)"), ("kafka_timestamp_unix", "1795284000"), ("kafka_topic", "scores"),
            ("push", push), ("kafka_partition", "3"), ("kafka_key", "match-42"), ("traceparent", "00-4bf92f-00f067-01"),
            ("kafka_timestamp_ms", "1795284000184"), ("kafka_tombstone_message", "0"), ("kafka_lag", "17"),
            ("key", "scores/3/\(4_200 + number)"),
        ]
    }

    /// The sink of Redis writes a field for each field of the record's value, which HoistField and InsertField make.
    private static let kafkaConnect = Bridge(
        name: "kafka-connect", hasKey: false, recipe: "kafka-connect.json",
        lines: [
            #""redis.command": "XADD""#, #""redis.key": "ll:in:{shop}""#, #""transforms.body.field": "push""#,
            #""transforms.place.offset.field": "kafka_offset""#,
        ]
    ) { number, push in
        [("push", push), ("kafka_topic", "scores"), ("kafka_partition", "3"), ("kafka_offset", "\(4_200 + number)")]
    }

    /// The sink `redis` with `message.format=extended` writes key and value under these names, then the headers.
    private static let debeziumServer = Bridge(
        name: "debezium-server", hasKey: true, recipe: "debezium.properties",
        lines: [
            "route.topic.replacement=ll:in:{shop}", "table.field.event.key=id", "redis.message.format=extended",
            "debezium.format.key=simplestring", "debezium.format.value=simplestring",
        ]
    ) { number, push in
        [
            ("key", "7d1f2b6e-08c8-4d1e-9e6c-0a9f35c0a\(700 + number)"), ("value", push),
            ("ID", "7d1f2b6e-08c8-4d1e-9e6c-0a9f35c0a\(700 + number)"), ("EVENTTYPE", "score-changed"),
        ]
    }

    /// Writes a record about the name of this bridge.
    func write(_ number: Int, _ gateway: GatewayFixture) async throws {
        let activity = #"{"name":"\#(name)","event":"update","content_state":{"n":\#(number)}}"#
        let values = fields(number, publishText(activity: activity))
        let arguments: [RedisArgument] = ["*"] + values.flatMap { [.string($0.0), .string($0.1)] }
        let key = gateway.store.keys.intake(try gateway.app)
        try await gateway.store.redis.send(RedisCommand("XADD", key, arguments))
    }
}
