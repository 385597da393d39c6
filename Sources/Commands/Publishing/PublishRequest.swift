import Answers
import ArgumentParser
import LiveActivity
import StrictJSON

/// Turns the options of `publish` into Airship's request. The publisher's JSON is passed on byte for byte.
struct PublishRequest {
    let options: PublishCommand

    /// The request's JSON. `now` is in epoch seconds, for relative times.
    func json(now: Int) throws -> JSON {
        func time(_ text: String?, _ option: String) throws -> JSON? {
            try text.map { .integer(try Self.time($0, option, now: now)) }
        }
        let titled: JSON? = options.alertTitle.map { title in
            .fields([
                "title": .string(title), "body": options.alertBody.map(JSON.string),
                "sound": options.alertSound.map(JSON.string),
            ])
        }
        let activity = JSON.fields([
            "name": .string(options.name), "event": .string(options.event),
            "content_state": try Self.object(options.contentState, "--content-state"),
            "timestamp": try time(options.timestamp, "--timestamp"),
            "priority": options.priority.map(JSON.integer),
            "stale_date": try time(options.staleDate, "--stale-date"),
            "dismissal_date": try time(options.dismissalDate, "--dismissal-date"),
            "relevance_score": try options.relevanceScore.map { try Self.number($0, "--relevance-score") },
            "alert": try Self.object(options.alert, "--alert") ?? titled,
            "attributes_type": options.attributesType.map(JSON.string),
            "attributes": try Self.object(options.attributes, "--attributes"),
        ])
        let pushOptions = JSON.fields([
            "after": options.after.map { .string("\($0)") }, "expiry": try time(options.expiry, "--expiry"),
            "insist": options.insist ? true : nil,
            "restart": options.restart ? true : nil, "respect_dismissal": options.respectDismissal.map(JSON.bool),
            "trace": options.trace.map(JSON.string),
        ])
        let (types, notification) = PushBlocks.json(
            activity, type: options.type ?? options.attributesType, on: options.platforms.all)
        return .fields([
            "audience": try Self.audience(options.audience), "device_types": types, "notification": notification,
            "options": pushOptions == [:] ? nil : pushOptions,
        ])
    }

    /// Reads `all`, `tag:T`, `tag:GROUP/T`, `channel:ID`, `user:NAME`, or JSON.
    static func audience(_ text: String) throws -> JSON {
        if text == "all" { return "all" }
        if text.hasPrefix("{") || text.hasPrefix("\"") { return JSON(try checked(text, "--audience")) }
        if let (kind, value) = text.cut(at: UInt8(ascii: ":")), !value.isEmpty {
            switch kind {
            case "tag":
                if let (group, tag) = value.cut(at: UInt8(ascii: "/")), !group.isEmpty, !tag.isEmpty {
                    return ["tag": .string(tag), "group": .string(group)]
                }
                return ["tag": .string(value)]
            case "channel": return ["channel": .string(value)]
            case "user": return ["named_user": .string(value)]
            default: break
            }
        }
        throw ValidationError("--audience must be all, tag:T, tag:GROUP/T, channel:ID, user:NAME or JSON")
    }

    /// Reads epoch seconds, `now`, or a time from now such as `+90`, `+15m`, `+2h`.
    static func time(_ text: String, _ option: String, now: Int) throws -> Int {
        if let seconds = TimeText.epochSeconds(text, now: now) { return seconds }
        throw ValidationError("\(option) must be epoch seconds or a time from now such as +15m, not '\(text)'")
    }

    private static func number(_ text: String, _ option: String) throws -> JSON {
        if let number = try? checked(text, option), number.kind == .number { return JSON(number) }
        throw ValidationError("\(option) must be a number, not '\(text)'")
    }

    /// An object: as written, from `@file`, or from stdin (`-`). Its bytes are passed on unchanged.
    static func object(_ text: String?, _ option: String) throws -> JSON? {
        guard let text else { return nil }
        let value = try checked(InputText.read(text, option), option)
        guard value.kind == .object else { throw ValidationError("\(option) must be a JSON object") }
        return JSON(value)
    }

    private static func checked(_ text: String, _ option: String) throws -> JSONValue {
        do {
            return try JSONDocument(text).root
        } catch {
            throw ValidationError("\(option) is not valid JSON: \(error)")
        }
    }
}

extension AfterPush {
    static func argument(_ text: String) throws -> AfterPush {
        guard let after = AfterPush(text) else {
            throw ValidationError("'\(text)' must be the id of a push, none or any")
        }
        return after
    }
}

extension ArgumentHelp {
    static let after = ArgumentHelp.value(
        "id", "Only if this push is the newest one of the name, as 'activity' shows it: a push id, none, or any.")
}

/// The value of `--platforms`: some of them, such as `ios,android`.
struct PlatformList: ExpressibleByArgument {
    let all: [Platform]

    init(_ all: [Platform]) { self.all = all }

    init?(argument: String) {
        let found = argument.split(separator: ",").map { Platform(name: String($0)) }
        guard !found.isEmpty, !found.contains(nil) else { return nil }
        all = Platform.all.filter { found.contains($0) }
    }

    var defaultValueDescription: String { all.map(\.name).joined(separator: ",") }
}
