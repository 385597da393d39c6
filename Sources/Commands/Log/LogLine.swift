import HTTPAPI
import LiveActivity
import Logging
import StrictJSON

/// One message, ready to be written.
struct LogLine {
    /// Epoch milliseconds.
    var time: Int64
    var level: Logger.Level
    var label: String
    var message: String
    var metadata: [(key: String, value: Logger.MetadataValue)]

    func rendered(_ format: LogFormat) -> String {
        switch format {
        case .text:
            return metadata.reduce("\(TimeText.text(time)) \(level.rawValue) \(label): \(Self.escaped(message))") {
                "\($0) \(Self.escaped($1.key))=\(Self.logfmt($1.value))"
            }
        case .json:
            var line: JSON = [
                "time": .string(TimeText.text(time)), "level": .string(level.rawValue), "logger": .string(label),
                "message": .string(message),
            ]
            for (key, value) in metadata {
                // A metadata key must not replace one of the line's own keys, so it gets a prefix.
                let isReserved = ["time", "level", "logger", "message"].contains(key)
                line.append(isReserved ? "_" + key : key, Self.json(value))
            }
            return line.text.visible
        case .ecs:
            var line: JSON = [
                "@timestamp": .string(TimeText.text(time)), "log.level": .string(level.rawValue),
                "message": .string(message), "ecs.version": .string(ECSField.version),
                "service.name": "lamplighter", "log.logger": .string(label),
            ]
            for (key, value) in metadata {
                let (field, json) = ECSField.field(key, value, Self.json(value))
                line.append(field, json)
            }
            return line.text.visible
        }
    }

    private static func json(_ value: Logger.MetadataValue) -> JSON {
        switch value {
        case .string(let text): .string(text)
        case .stringConvertible(let number as any BinaryInteger): .raw(Array("\(number)".utf8))
        case .stringConvertible(let flag as Bool): .bool(flag)
        case .stringConvertible(let other): .string(other.description)
        case .array(let values): .array(values.map(json))
        case .dictionary(let values):
            .object(values.sorted { $0.key < $1.key }.map { JSON.Member($0.key, json($0.value)) })
        @unknown default: .string("\(value)")
        }
    }

    /// Quotes a value that is empty or holds a space, a quote or an equals sign.
    private static func logfmt(_ value: Logger.MetadataValue) -> String {
        let text = value.description
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x3D && $0 != 0x7F }
        return isPlain ? escaped(text) : JSON.string(text).text.visible
    }

    private static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.isHidden) else { return text }
        return String(JSON.string(text).text.visible.dropFirst().dropLast())
    }
}

enum LogFormat: Sendable {
    /// Text such as `2026-11-21T16:02:03.123Z info worker: message key=value`.
    case text
    /// One JSON object per line.
    case json
    /// The same with the field names of the Elastic Common Schema.
    case ecs
}

/// The fields of the Elastic Common Schema for what Lamplighter logs. All others are under `lamplighter.`.
enum ECSField {
    static let version = "8.11.0"

    private static let names = [
        "operation": "http.request.id", "method": "http.request.method", "status": "http.response.status_code",
        "in": "http.request.body.bytes", "out": "http.response.body.bytes", "ms": "event.duration",
        "address": "client.ip", "error": "error.message", "cause": "error.message", "url": "url.full",
        "worker": "service.node.name",
    ]
    /// Fields that are numbers in the schema, and by what to multiply ours: `event.duration` is in nanoseconds.
    private static let numbers = ["status": 1, "in": 1, "out": 1, "ms": 1_000_000]

    /// - Parameter json: the value as `log.format: json` writes it
    static func field(_ key: String, _ value: Logger.MetadataValue, _ json: JSON) -> (name: String, value: JSON) {
        var name = names[key] ?? "lamplighter.\(key)"
        // Elasticsearch refuses a whole line if `client.ip` holds a network (`2001:db8:0:0::/64`), or the
        // word for a unix socket.
        if name == "client.ip", !AddressRanges.isAddress(value.description) { name = "client.address" }
        guard let factor = numbers[key], let number = Int(value.description),
            case let (product, false) = number.multipliedReportingOverflow(by: factor)
        else { return (name, json) }
        return (name, .integer(product))
    }
}
