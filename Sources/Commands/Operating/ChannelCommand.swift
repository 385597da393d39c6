import ArgumentParser
import StrictJSON

struct ChannelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "channel", "Show what a channel (one install of an app) follows, its tags and its user.",
        details: """
            It lists each name with the age of the token, and says if the token waits for a retry, is quarantined, or \
            belongs to the app's other APNs environment. Names that it left, or whose token was pruned, are listed for some \
            hours.
            """,
        examples: "channel 6a1f2b6e-08c8-4d1e-9e6c-0a9f35c0a7d1", "channel 6a1f2b6e-08c8-4d1e-9e6c-0a9f35c0a7d1 --json")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Id of the channel.") var id: String

    func run() async throws {
        try await gateway.call(.get("/api/channels/\(id)")) { (answer: Answer) in
            answer.channel.lines
        }
    }

    private struct Answer: Decodable { var channel: Channel }

    struct Channel: Decodable {
        struct Token: Decodable {
            var name: String?
            var attributes_type: String?
            var token: String
            var registered_at: String
            var state: String
            var other_environment: Bool
        }

        struct Former: Decodable {
            var name: String?
            var attributes_type: String?
            var state: String
            var at: String
        }

        var channel_id: String
        var created: String?
        var last_registration: String?
        var named_user_id: String?
        var tags: [String]
        var tag_groups: [String: [String]]
        var live_activities: [Token]
        var start_tokens: [Token]
        var former: [Former]

        var lines: [String] {
            let groups = tag_groups.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.joined(separator: ", "))" }
            let tags = (tags.isEmpty ? [] : [tags.joined(separator: ", ")]) + groups
            let head = Table(fields: [
                "channel": channel_id, "user": named_user_id,
                "tags": tags.isEmpty ? "none" : tags.joined(separator: "; "),
                "created": created, "last seen": last_registration,
                "follows": live_activities.isEmpty ? "nothing" : nil,
            ])
            var table = Table(.left, .left, .left, .left)
            for token in live_activities + start_tokens {
                let state = token.state + (token.other_environment ? ", other environment" : "")
                table.add(
                    Self.place(token.name, token.attributes_type), state, token.token, "since \(token.registered_at)")
            }
            for token in former {
                let time = token.state == "over" ? "registered \(token.at)" : "at \(token.at)"
                table.add(Self.place(token.name, token.attributes_type), token.state, "", time)
            }
            return head.lines + table.lines
        }

        private static func place(_ name: String?, _ type: String?) -> String { name ?? "start of \(type ?? "")" }
    }
}
