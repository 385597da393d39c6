import Answers
import ArgumentParser

struct ExportCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "export", "Write the channels that follow a name, with their tokens, as NDJSON.",
        details: """
            'import' reads the lines. They hold whole tokens, so keep them as secret as the app's keys. Channels that \
            come or leave meanwhile may be missing or left in. The ids of activities are not stored, so a device that \
            later sends one counts as having a new card.
            """,
        examples: "export match-42 >followers.ndjson", "export --start-tokens MatchAttributes >tokens.ndjson",
        "export match-42 | ssh other lamplighter import - --name match-42")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity.", completion: .names) var name: String?
    @Option(help: .value("type", "Write the push-to-start tokens of this attributes type.")) var startTokens: String?

    func check() throws {
        guard (name == nil) != (startTokens == nil) else { throw ValidationError("give a name or --start-tokens") }
    }

    func run() async throws {
        let path: GatewayPath =
            if let startTokens { "/api/start-tokens/\(startTokens)/channels" } else {
                "/api/activities/\(name ?? "")/channels"
            }
        let client = try gateway.client()
        var next: String?
        repeat {
            let answer = try await client.send(.get(path, ["limit": "10000", "after": next]))
            let page: FollowersAnswer = try GatewayClient.decode(answer)
            for channel in page.channels { Terminal.print(channel.text) }
            next = page.next
        } while next != nil && Terminal.isRead
    }
}
