import ArgumentParser
import Foundation
import LiveActivity

/// Turns the options of `publish` into Airship's request. The publisher's JSON is passed on byte for byte.
struct PublishRequest {
    let options: PublishCommand

    init(_ options: PublishCommand) { self.options = options }

    /// The request's JSON. `now` is in epoch seconds, for relative times.
    func json(now: Int) throws -> String {
        let activity = CommandJSON.object([
            ("name", CommandJSON.quoted(options.name)),
            ("event", CommandJSON.quoted(options.event)),
            ("content_state", try options.contentState.map { try Self.jsonObject($0, "--content-state") }),
            ("timestamp", try options.timestamp.map { try Self.time($0, "--timestamp", now: now) }),
            ("priority", options.priority.map(String.init)),
            ("stale_date", try options.staleDate.map { try Self.time($0, "--stale-date", now: now) }),
            ("dismissal_date", try options.dismissalDate.map { try Self.time($0, "--dismissal-date", now: now) }),
            ("relevance_score", try options.relevanceScore.map { try Self.number($0, "--relevance-score") }),
            (
                "alert",
                try options.alert.map { try Self.jsonObject($0, "--alert") }
                    ?? options.alertTitle.map {
                        CommandJSON.object([
                            ("title", CommandJSON.quoted($0)), ("body", options.alertBody.map(CommandJSON.quoted)),
                            ("sound", options.alertSound.map(CommandJSON.quoted)),
                        ])
                    }
            ),
            ("attributes_type", options.attributesType.map(CommandJSON.quoted)),
            ("attributes", try options.attributes.map { try Self.jsonObject($0, "--attributes") }),
        ])
        let pushOptions = CommandJSON.object([
            ("expiry", try options.expiry.map { try Self.time($0, "--expiry", now: now) }),
            ("insist", options.insist ? "true" : nil),
            ("restart", options.restart ? "true" : nil),
        ])
        return CommandJSON.object([
            ("audience", try Self.audience(options.audience)),
            ("device_types", #"["ios"]"#),
            ("notification", #"{"ios":{"live_activity":\#(activity)}}"#),
            ("options", pushOptions == "{}" ? nil : pushOptions),
        ])
    }

    /// Reads `all`, `tag:T`, `tag:GROUP/T`, `channel:ID`, `user:NAME`, or JSON.
    static func audience(_ text: String) throws -> String {
        if text == "all" { return #""all""# }
        if text.hasPrefix("{") || text.hasPrefix("\"") {
            guard isJSON(text) else { throw ValidationError("--audience is not valid JSON") }
            return text
        }
        let parts = text.parts(between: UInt8(ascii: ":"), atMost: 2)
        if parts.count == 2, !parts[1].isEmpty {
            switch parts[0] {
            case "tag":
                let halves = parts[1].parts(between: UInt8(ascii: "/"), atMost: 2)
                if halves.count == 2, !halves.contains(where: \.isEmpty) {
                    return CommandJSON.object([
                        ("tag", CommandJSON.quoted(halves[1])), ("group", CommandJSON.quoted(halves[0])),
                    ])
                }
                return CommandJSON.object([("tag", CommandJSON.quoted(parts[1]))])
            case "channel": return CommandJSON.object([("ios_channel", CommandJSON.quoted(parts[1]))])
            case "user": return CommandJSON.object([("named_user", CommandJSON.quoted(parts[1]))])
            default: break
            }
        }
        throw ValidationError("--audience must be all, tag:T, tag:GROUP/T, channel:ID, user:NAME or JSON")
    }

    /// Reads epoch seconds, `now`, or a time from now such as `+90`, `+15m`, `+2h`.
    static func time(_ text: String, _ option: String, now: Int) throws -> String {
        if text == "now" { return String(now) }
        if text.hasPrefix("+") {
            var digits = text.dropFirst()
            var unit = 1
            for (suffix, factor) in [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)] where digits.hasSuffix(suffix) {
                unit = factor
                digits = digits.dropLast()
                break
            }
            if let count = Int(digits), (0...1_000_000_000).contains(count) { return String(now + count * unit) }
        } else if let seconds = Int(text), seconds >= 0 {
            return String(seconds)
        }
        throw ValidationError("\(option) must be epoch seconds or a time from now such as +15m, not '\(text)'")
    }

    private static func number(_ text: String, _ option: String) throws -> String {
        guard Double(text) != nil, isJSON(text) else { throw ValidationError("\(option) must be a number") }
        return text
    }

    /// The JSON text of an object: as written, from `@file`, or from stdin (`-`).
    private static func jsonObject(_ text: String, _ option: String) throws -> String {
        let json = try InputText.read(text, option).trimmingCharacters(in: .whitespacesAndNewlines)
        guard json.hasPrefix("{"), isJSON(json) else { throw ValidationError("\(option) must be a JSON object") }
        return json
    }

    private static func isJSON(_ text: String) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
    }
}

/// The text of an option: as written, from `@file`, or from stdin (`-`).
enum InputText {
    static func read(_ text: String, _ option: String) throws -> String {
        let data: Data?
        if text == "-" {
            data = try FileHandle.standardInput.readToEnd() ?? Data()
        } else if text.hasPrefix("@") {
            data = FileManager.default.contents(atPath: String(text.dropFirst()))
        } else {
            return text
        }
        guard let data else { throw ValidationError("\(option): cannot read \(text.dropFirst())") }
        guard let content = String(validating: data, as: UTF8.self) else {
            throw ValidationError("\(option): not UTF-8 text")
        }
        return content
    }
}
