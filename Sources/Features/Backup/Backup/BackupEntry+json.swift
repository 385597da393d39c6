import FoundationEssentials
import LiveActivity
import Store
import StrictJSON

/// Each entry is a line of JSON. Tokens are as they are in Redis, in Base64.
extension BackupEntry {
    func write(_ app: String, to out: inout [UInt8]) {
        out += json(app).bytes
        out.append(UInt8(ascii: "\n"))
    }

    private func json(_ app: String) -> JSON {
        let app = JSON.string(app)
        switch self {
        case .schema(let type, let document):
            return [
                "entry": "schema", "app": app, "type": .string(type),
                "schema": .string(String(decoding: document, as: UTF8.self)),
            ]
        case .record(let kind, let name, let record):
            return [
                "entry": .string(kind.rawValue), "app": app, "name": .string(name),
                "record": .string(String(decoding: record, as: UTF8.self)),
            ]
        case .place(let place, let buckets, let meta):
            return .fields([
                "entry": "name", "app": app, "name": place.name.map(JSON.string),
                "start_tokens": place.typeText.map(JSON.string), "buckets": .integer(buckets),
                "meta": Self.object(meta),
            ])
        case .broadcast(let name, let fields):
            return [
                "entry": "broadcast", "app": app, "name": .string(name.rawValue), "channel": Self.object(fields),
            ]
        case .tokens(let place, let stored):
            return .fields([
                "entry": "tokens", "app": app, "name": place.name.map(JSON.string),
                "start_tokens": place.typeText.map(JSON.string), "count": .integer(stored.count),
                "records": .string(Base64.encode(stored.bytes)),
            ])
        case .channel(let channel):
            return [
                "entry": "channel", "app": app, "channel": .string(channel.channel.description),
                "created_at_ms": .integer(channel.created), "seen_at_ms": .integer(channel.seen),
                "sets": .array(channel.sets.map { .string($0) }),
            ]
        case .schedule(let id, let fields):
            return [
                "entry": "schedule", "app": app, "id": .string(id.description),
                "fields": .object(
                    fields.sorted { $0.key < $1.key }.map { .init($0.key, .string(Base64.encode($0.value))) }),
            ]
        }
    }

    private static func object(_ fields: [String: String]) -> JSON {
        .object(fields.sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value)) })
    }

    /// Reads a line. The error says which field is wrong.
    static func read(_ line: [UInt8]) throws -> (app: String, entry: BackupEntry) {
        let object = try JSONDocument(line).root.object()
        func text(_ key: String) throws -> String { try object.required(key).string() }
        func wrong(_ key: String, _ message: String) throws -> any Error { try object.required(key).error(message) }
        func strings(_ key: String) throws -> [String: String] {
            var fields: [String: String] = [:]
            for (name, value) in try object.required(key).object().members { fields[name] = try value.string() }
            return fields
        }
        func bytes(_ value: JSONValue) throws -> [UInt8] {
            guard let data = Data(base64Encoded: try value.string()) else { throw value.error("is not Base64") }
            return [UInt8](data)
        }
        func place() throws -> TokenPlace {
            if let type = try object["start_tokens"]?.string() {
                return try TokenPlace(typeText: type)
            }
            return .activity(try ActivityName(try text("name")))
        }
        let app = try text("app")
        switch try text("entry") {
        case "schema": return (app, .schema(type: try text("type"), document: Array(try text("schema").utf8)))
        case "name":
            let buckets = Int(clamping: try object.required("buckets").integer())
            return (app, .place(try place(), buckets: buckets, meta: try strings("meta")))
        case "broadcast": return (app, .broadcast(try ActivityName(try text("name")), try strings("channel")))
        case "tokens":
            guard let tokens = StoredTokens(bytes: try bytes(try object.required("records"))),
                Int64(tokens.count) == (try object.required("count").integer())
            else { throw try wrong("records", "are not whole") }
            return (app, .tokens(try place(), tokens))
        case "channel":
            func time(_ key: String) throws -> Int64 {
                let time = try object.required(key).integer()
                guard (0...9_999_999_999_999).contains(time) else { throw try wrong(key, "must be a time in ms") }
                return time
            }
            let channel = StoredChannel(
                channel: try ChannelID(try text("channel")), created: try time("created_at_ms"),
                seen: try time("seen_at_ms"),
                sets: try object.required("sets").array().map { try $0.string() })
            guard let channel else { throw try wrong("sets", "must begin with t: or u:") }
            return (app, .channel(channel))
        case "schedule":
            guard let id = PushID(try text("id")) else { throw try wrong("id", "must be a UUID") }
            var fields: [String: [UInt8]] = [:]
            for (name, value) in try object.required("fields").object().members { fields[name] = try bytes(value) }
            return (app, .schedule(id, fields))
        case let kind:
            guard let record = AppRecord(rawValue: kind) else {
                throw try wrong("entry", "is '\(kind)', which this version does not know")
            }
            return (app, .record(record, name: try text("name"), Array(try text("record").utf8)))
        }
    }
}

extension TokenPlace {
    fileprivate var name: String? { if case .activity(let name) = self { name.rawValue } else { nil } }
}
