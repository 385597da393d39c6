import Answers
import ArgumentParser
import LiveActivity

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "explain", "Say whether a channel would get a name's next update, and if not, why.",
        details: """
            It looks at the channel's token, the quarantine, pushes that wait for it, the state of the name, the alarms \
            of the app and the name's last push.
            """,
        examples: "explain match-42 6a1f2b6e-08c8-4d1e-9e6c-0a9f35c0a7d1", "explain match-42 device-1 --json")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity.", completion: .names) var name: String
    @Argument(help: "Id of the channel.") var channel: String

    func run() async throws {
        let client = try gateway.client()
        let body = try await client.send(.get("/api/activities/\(name)/channels/\(channel)"))
        if gateway.json { return Terminal.print(json: body) }
        let answer: ExplanationAnswer = try GatewayClient.decode(body)
        // A slip comes before a verdict about something else than the person meant.
        if answer.following == nil { try await doubt(client) }
        lines(answer).forEach(Terminal.print)
    }

    /// Says which of the two is not known, because a person may have misspelt or swapped them.
    private func doubt(_ client: GatewayClient) async throws {
        let knowsName = try await client.knows("/api/activities/\(name)")
        let knowsChannel = try await client.knows("/api/channels/\(channel)")
        if !knowsName, !knowsChannel {
            let isSwapped = try await client.knows("/api/activities/\(channel)")
            let hint = isSwapped ? "; did you mean 'explain \(channel) \(name)'?" : ""
            return Terminal.error("neither the name \(name) nor the channel \(channel) is known here\(hint)")
        }
        if !knowsName { Terminal.error("the name \(name) has no followers and no pushes: check its spelling") }
        if !knowsChannel { Terminal.error("the channel \(channel) is not known here: check its spelling") }
    }

    private func lines(_ answer: ExplanationAnswer) -> [String] {
        let verdict = answer.getsNextUpdate ? "would get" : "would not get"
        var lines = ["\(channel) \(verdict) the next update of \(name)"]
        lines += answer.reasons.map { "  \($0.text)" }
        if let token = answer.following?.held { lines.append("  token \(token.token) since \(token.registeredAt)") }
        if let push = answer.lastPush {
            let counts = "\(Terminal.grouped(push.delivered)) of \(Terminal.grouped(push.targets)) delivered"
            lines.append("  last push \(push.pushID): \(push.event), \(push.stateText), \(counts), \(push.createdAt)")
        }
        return lines
    }
}
