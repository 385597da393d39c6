import Answers
import ArgumentParser
import StrictJSON

struct ForgetCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "forget", "Forget channels or named users: their tokens, tags and records.",
        details: """
            The gateway removes a channel from every name, set, queue and dead letter. Workers complete what is in \
            flight within minutes. A device whose app is still in use registers again. On a terminal it asks first.
            """,
        examples: "forget 6a1f2b6e-08c8-4d1e-9e6c-0a9f35c0a7d1", "forget --user user-7 --user user-8 --yes")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Ids of channels.") var channels: [String] = []
    @Option(name: .customLong("user"), help: .value("named-user", "Forget a named user's channels. Repeatable."))
    var users: [String] = []
    @OptionGroup var asking: Asking

    func check() throws {
        if channels.isEmpty && users.isEmpty { throw ValidationError("Name a channel, or a named user with --user.") }
        if !channels.isEmpty && !users.isEmpty { throw ValidationError("Name channels or named users, not both.") }
    }

    private func question() async throws -> String {
        var what = Terminal.counted(channels.count, "channel")
        if !users.isEmpty {
            let client = try gateway.client()
            var count = 0
            for user in users {
                let request = GatewayRequest.get("/api/named_users/\(user)")
                count +=
                    try await client.count(request) { (answer: UserStoryAnswer) in answer.namedUser.channelCount } ?? 0
            }
            what = "\(Terminal.counted(count, "channel")) of \(Terminal.counted(users.count, "named user"))"
        }
        return "Forget \(what)? Their tokens, tags and records are deleted."
    }

    func run() async throws {
        try await asking.confirm(question, kept: "nothing was forgotten")
        if users.isEmpty {
            let entries = channels.map { JSON.object([JSON.Member("channel_id", .string($0))]) }
            try await gateway.call(.post("/api/channels/uninstall", .array(entries))) { (answer: ForgottenAnswer) in
                answer.lines(channels)
            }
        } else {
            let body: JSON = ["named_user_id": .array(users.map(JSON.string))]
            try await gateway.call(.post("/api/named_users/uninstall", body)) { (answer: ForgottenAnswer) in
                answer.lines(users, of: "channels of ")
            }
        }
    }
}

extension ForgottenAnswer {
    /// One line for what is forgotten, and one for what nobody knows.
    func lines(_ asked: [String], of kind: String = "") -> [String] {
        let unknown = unknown ?? []
        let known = asked.filter { !unknown.contains($0) }
        return [
            known.isEmpty ? nil : "\(kind)\(known.joined(separator: ", ")): forgotten",
            unknown.isEmpty
                ? nil : "\(kind)\(unknown.joined(separator: ", ")): nothing is stored, so nothing was forgotten",
        ].compactMap(\.self)
    }
}
