import ArgumentParser
import Curl

/// `lamplighter activity`: shows one name, or lists the names.
struct ActivityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activity",
        abstract: "Show what follows a name, list the names, or tell a name's attributes type.",
        discussion: """
            Examples:
              lamplighter activity order-1234
              lamplighter activity --prefix match- --limit 50
              lamplighter activity order-1234 --attributes-type DeliveryAttributes
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "Name of the activity; none lists the names.")
    var name: String?
    @Option(name: .long, help: ArgumentHelp("List only names that begin with this.", valueName: "text"))
    var prefix: String?
    @Option(name: .long, help: ArgumentHelp("List names after this one.", valueName: "name"))
    var after: String?
    @Option(name: .long, help: ArgumentHelp("List at most this many.", valueName: "number"))
    var limit = 100

    @Option(
        name: .long,
        help: ArgumentHelp("Tell the name's type, by which its states are checked (see 'schema').", valueName: "type"))
    var attributesType: String?

    func run() async throws {
        let client = try gateway.client(global)
        if let attributesType {
            guard let name else { throw ValidationError("--attributes-type needs a name") }
            let body = CommandJSON.object([("attributes_type", CommandJSON.quoted(attributesType))])
            let answer = try await client.send(
                "PUT", "/api/activities/\(GatewayClient.segment(name))", body: .bytes(Array(body.utf8)))
            if global.json { Terminal.print(json: answer) }
            return
        }
        guard let name else { return try await list(client) }
        let answer = try await client.send("GET", "/api/activities/\(GatewayClient.segment(name))")
        if global.json { return Terminal.print(json: answer) }
        let activity = try GatewayClient.decode(Activity.self, answer)
        var table = Table(.left, .left)
        table.add("name", activity.name)
        table.add("tokens", Terminal.grouped(activity.tokens))
        table.add("shards", Terminal.grouped(activity.shards))
        table.add("last push", activity.last_push_id ?? "none")
        table.add("ended", activity.ended ? "yes" : "no")
        if let due = activity.automatic_end_at { table.add("automatic end", due) }
        if let type = activity.attributes_type { table.add("type", type) }
        if let broadcast = activity.broadcast {
            table.add("broadcast channel", broadcast.channel ?? "none yet (\(broadcast.state))")
        }
        table.print()
    }

    private func list(_ client: GatewayClient) async throws {
        let query = [("prefix", prefix), ("after", after), ("limit", String(limit))].compactMap { key, value in
            value.map { "\(key)=\(GatewayClient.segment($0))" }
        }
        let answer = try await client.send("GET", "/api/activities?\(query.joined(separator: "&"))")
        if global.json { return Terminal.print(json: answer) }
        try GatewayClient.decode(Listing.self, answer).activities.forEach { Terminal.print($0.name) }
    }

    private struct Activity: Decodable {
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

            init(from decoder: any Decoder) throws {
                if let name = try? decoder.singleValueContainer().decode(String.self) {
                    self.name = name
                } else {
                    name = try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .name)
                }
            }

            enum Key: CodingKey { case name }
        }
        var activities: [Entry]
    }
}
