import Answers
import ArgumentParser

struct ActionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "actions", "List who did what with the app's secrets, newest first.",
        details: """
            The log has what publishers and operators did: publish, cancel, pause, retry, forget, change a schema and so \
            on, with the credential and the address. Publishes of one caller are summed up by the minute; 'lamplighter \
            push' tells who published a push. Actions are kept for actions.expire_after.
            """,
        examples: "actions", "actions --action pause,resume", "actions --credential master --from 2026-11-21T18:00:00",
        "actions --name match-42 --json")

    @OptionGroup var gateway: GatewayOptions
    @Option(help: .value("actions", "Only these actions, with commas between them.")) var action: String?
    @Option(help: .value("id", "Only what this credential did.")) var credential: String?
    @Option(help: .value("name", "Only what was done to this name.")) var name: String?
    @Option(help: .value("time", "Only actions from this time on (UTC), or epoch seconds.")) var from: String?
    @Option(help: .value("time", "Only actions before this time.")) var to: String?
    @Option(help: .value("number", "List at most this many (default: 100).")) var limit: Int?
    @Option(help: .value("position", "Go on where a page ended, at its 'next'.")) var after: String?

    func run() async throws {
        try await gateway.list("actions", limit: limit ?? 100, after: after) { limit, after in
            .get(
                "/api/actions",
                [
                    "action": action, "credential": credential, "name": name, "from": from, "to": to,
                    "limit": "\(min(limit, 1_000))", "after": after,
                ])
        } lines: { (page: ActionsAnswer) in
            Table.list(
                page.actions, nothing: "no actions", next: page.next,
                .time("AT", \.at), .text("ACTION") { $0.action + ($0.failed.map { " (failed: \($0))" } ?? "") },
                .text("WHO", \.caller), .text("ADDRESS", rank: 1, \.address), .count("COUNT", \.count),
                .text("SUBJECT", \.subject))
        }
    }
}

extension ActionAnswer {
    fileprivate var subject: String {
        let parts = [
            name, attributesType, pushID, lastPushID.map { "to \($0)" }, scheduleID, channel, namedUser,
            credentialID, entry, reason.map { ": \($0)" },
        ]
        return parts.compactMap(\.self).joined(separator: " ")
    }
}
