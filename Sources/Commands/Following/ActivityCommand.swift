import Answers
import ArgumentParser
import LiveActivity
import StrictJSON

struct ActivityCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "activity", "Show what follows a name, list the names, or set a name's attributes type.",
        examples: "activity order-1234", "activity --prefix match- --limit 50", "activity --contains final --followed",
        "activity order-1234 --attributes-type DeliveryAttributes")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity. Without one, the names are listed.", completion: .names) var name: String?
    @Option(help: .value("text", "List only names that begin with this.")) var prefix: String?
    @Option(help: .value("text", "List only names that have this in them.")) var contains: String?
    @Flag(inversion: .prefixedNo, help: "List only names that an end closed, or only the others.") var ended: Bool?
    @Flag(inversion: .prefixedNo, help: "List only names that channels follow, or only the others.")
    var followed: Bool?
    @Option(help: .value("name", "List names after this one.")) var after: String?
    @Option(help: .value("number", "List at most this many.")) var limit = 100
    @Option(help: .value("type", "Set the name's attributes type, whose schema checks its content states."))
    var attributesType: String?

    func check() throws {
        if attributesType != nil, name == nil { throw ValidationError("--attributes-type needs a name") }
    }

    func run() async throws {
        guard let name else {
            return try await gateway.list("activities", limit: limit, after: after) { limit, after in
                .get(
                    "/api/activities",
                    [
                        "prefix": prefix, "contains": contains, "ended": ended.map { "\($0)" },
                        "followed": followed.map { "\($0)" }, "after": after, "limit": "\(limit)",
                    ])
            } lines: { (listing: ActivitiesAnswer) in
                Table.list(
                    listing.activities, next: listing.next,
                    .text("NAME", \.name), .right("FOLLOWERS") { "~\(Terminal.grouped($0.followers))" },
                    .text("STATE") { $0.ended ? "ended" : "open" }, .time("LAST PUSH") { $0.lastPushAt ?? "none" })
            }
        }
        if let attributesType {
            return try await gateway.call(.put("/api/activities/\(name)", ["attributes_type": .string(attributesType)]))
        }
        let answer = try await gateway.client().send(.get("/api/activities/\(name)"))
        if gateway.json { return Terminal.print(json: answer) }
        let activity: ActivityAnswer = try GatewayClient.decode(answer)
        let broadcast = activity.broadcast.map { $0.channel ?? "none yet (\($0.state))" }
        Table(fields: [
            "name": activity.name, "tokens": Terminal.grouped(activity.tokens),
            "shards": Terminal.grouped(activity.shards), "last push": activity.lastPushID ?? "none",
            "ended": activity.ended ? "yes" : "no", "automatic end": activity.automaticEndAt,
            "type": activity.attributesType, "broadcast channel": broadcast,
            "newest push": activity.newestPush?.line, "last content state": activity.lastContentState?.line,
        ]).print()
    }
}

extension NewestPushAnswer {
    /// The push and its publisher.
    fileprivate var line: String { "\(pushID) (\(event), \(state)\(by.map { ", by \($0.caller)" } ?? ""))" }
}

extension LastContentStateAnswer {
    /// The state as it was written, with its push.
    fileprivate var line: String {
        let isForAll = audience.bytes.first == UInt8(ascii: "\"")
        return "\(contentState.text) (\(event) of \(acceptedAt)\(isForAll ? "" : ", for \(audience.text)"))"
    }
}
