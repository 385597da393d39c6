import Foundation
import Logging

/// One message, ready to be written.
struct LogLine {
    /// The time since 1970.
    struct Time {
        var seconds: Int
        var milliseconds: Int

        static var now: Time {
            let milliseconds = Int(Date().timeIntervalSince1970 * 1_000)
            return Time(seconds: milliseconds / 1_000, milliseconds: milliseconds % 1_000)
        }

        /// The time in the form of RFC 3339, UTC.
        var text: String {
            var parts = tm()
            var seconds = time_t(seconds)
            gmtime_r(&seconds, &parts)
            func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let fraction = String(1_000 + milliseconds).dropFirst()
            return "\(parts.tm_year + 1_900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
                + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)).\(fraction)Z"
        }
    }

    var time: Time
    var level: Logger.Level
    var label: String
    var message: String
    var metadata: [(key: String, value: Logger.MetadataValue)]

    func rendered(_ format: LogFormat) -> String {
        switch format {
        case .text:
            metadata.reduce("\(time.text) \(level.rawValue) \(label): \(Self.escaped(message))") { line, entry in
                "\(line) \(Self.escaped(entry.key))=\(Self.logfmt(entry.value))"
            }
        case .json:
            metadata.reduce(
                #"{"time":"\#(time.text)","level":"\#(level.rawValue)","logger":\#(CommandJSON.quoted(label))"#
                    + #","message":\#(CommandJSON.quoted(message))"#
            ) { line, entry in
                // A metadata key must not replace one of the line's own keys, so it gets a prefix.
                let isReserved = ["time", "level", "logger", "message"].contains(entry.key)
                return
                    "\(line),\(CommandJSON.quoted(isReserved ? "_" + entry.key : entry.key)):\(Self.json(entry.value))"
            } + "}"
        }
    }

    private static func json(_ value: Logger.MetadataValue) -> String {
        switch value {
        case .string(let text): CommandJSON.quoted(text)
        case .stringConvertible(let number as any BinaryInteger): "\(number)"
        case .stringConvertible(let flag as Bool): "\(flag)"
        case .stringConvertible(let other): CommandJSON.quoted(other.description)
        case .array(let values): "[" + values.map(json).joined(separator: ",") + "]"
        case .dictionary(let values):
            "{"
                + values.sorted { $0.key < $1.key }.map { "\(CommandJSON.quoted($0.key)):\(json($0.value))" }
                .joined(separator: ",") + "}"
        @unknown default: CommandJSON.quoted("\(value)")
        }
    }

    /// Quotes a value that is empty or holds a space, a quote or an equals sign.
    private static func logfmt(_ value: Logger.MetadataValue) -> String {
        let text = value.description
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x3D && $0 != 0x7F }
        return isPlain ? escaped(text) : CommandJSON.quoted(text)
    }

    private static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: CommandJSON.isControl) else { return text }
        return String(CommandJSON.quoted(text).dropFirst().dropLast())
    }
}
