import ArgumentParser
import StrictJSON

struct ActivityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "activity", "Show what follows a name, list the names, or set a name's attributes type.",
        examples: "activity order-1234", "activity --prefix match- --limit 50", "activity --contains final --followed",
        "activity order-1234 --attributes-type DeliveryAttributes")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity. Without one, the names are listed.") var name: String?
    @Option(help: .value("text", "List only names that begin with this.")) var prefix: String?
    @Option(help: .value("text", "List only names that have this in them.")) var contains: String?
    @Flag(inversion: .prefixedNo, help: "List only names that an end closed, or only the others.") var ended: Bool?
    @Flag(inversion: .prefixedNo, help: "List only names that channels follow, or only the others.")
    var followed: Bool?
    @Option(help: .value("name", "List names after this one.")) var after: String?
    @Option(help: .value("number", "List at most this many.")) var limit = 100
    @Option(help: .value("type", "Set the name's attributes type, whose schema checks its content states."))
    var attributesType: String?

    func validate() throws {
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
            } lines: { (listing: Listing) in
                var table = Table(.left, .right, .left, .left)
                if !listing.activities.isEmpty { table.add("NAME", "FOLLOWERS", "STATE", "LAST PUSH") }
                for entry in listing.activities {
                    let state = entry.ended == true ? "ended" : "open"
                    table.add(
                        entry.name, entry.followers.map { "~\(Terminal.grouped($0))" } ?? "?", state,
                        entry.last_push_at ?? "none")
                }
                return table.lines + (listing.next.map { ["more: --after \($0)"] } ?? [])
            }
        }
        if let attributesType {
            return try await gateway.call(.put("/api/activities/\(name)", ["attributes_type": .string(attributesType)]))
        }
        let answer = try await gateway.client().send(.get("/api/activities/\(name)"))
        if gateway.json { return Terminal.print(json: answer) }
        let activity: Activity = try GatewayClient.decode(answer)
        let broadcast = activity.broadcast.map { $0.channel ?? "none yet (\($0.state))" }
        Table(fields: [
            "name": activity.name, "tokens": Terminal.grouped(activity.tokens),
            "shards": Terminal.grouped(activity.shards), "last push": activity.last_push_id ?? "none",
            "ended": activity.ended ? "yes" : "no", "automatic end": activity.automatic_end_at,
            "type": activity.attributes_type, "broadcast channel": broadcast,
            "last content state": try Self.lastState(answer),
        ]).print()
    }

    /// The state as it was written, with its push. Nil if the name has none.
    private static func lastState(_ answer: [UInt8]) throws -> String? {
        guard let value = try JSONDocument(answer).root.object()["last_content_state"], value.kind == .object else {
            return nil
        }
        let state = try value.object()
        let audience = try state.required("audience")
        let text = String(decoding: try state.required("content_state").raw, as: UTF8.self)
        let origin = try "\(state.required("event").string()) of \(state.required("accepted_at").string())"
        let isForAll = audience.kind == .string
        return "\(text) (\(origin)\(isForAll ? "" : ", for \(String(decoding: audience.raw, as: UTF8.self))"))"
    }

    struct Activity: Decodable {
        var name: String
        var tokens: Int
        var shards: Int
        var last_push_id: String?
        var ended: Bool
        var automatic_end_at: String?
        var attributes_type: String?
        var broadcast: BroadcastCommand.Answer.Channel?
    }

    private struct Listing: Decodable {
        struct Entry: Decodable {
            var name: String
            // Absent in the answer of an older gateway.
            var followers: Int?
            var ended: Bool?
            var last_push_at: String?
        }
        var activities: [Entry]
        var next: String?
    }
}
