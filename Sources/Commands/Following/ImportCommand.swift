import ArgumentParser

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "import", "Register the followers of a name, tags or named users, from NDJSON or CSV of any length.",
        details: """
            Without 'tags' or 'users' the file has followers, and 'lamplighter help import followers' shows the options \
            for them. The command lists rejected lines and then exits with code 1. All other lines are applied, and \
            applying a line twice does no harm. A file that is called tags or users is ./tags or ./users.
            """,
        examples: "import devices.csv --name match-42", "import tokens.ndjson --start-tokens MatchAttributes",
        "import tags tags.csv", "import users users.ndjson --json",
        subcommands: [Followers.self, Tags.self, Users.self], defaultSubcommand: Followers.self)

    struct Followers: CheckedCommand {
        static let configuration = CommandConfiguration(
            "Let many channels follow a name. This is what 'import' does without a subcommand.",
            details: """
                NDJSON has {"channel":"…","token":"…hex…"} on each line. CSV begins with a line of column names, of \
                which channel and token are required. Both may have registered_at_ms, started_at_ms, activity_id and \
                frequent_pushes_enabled. The column options.catch_up is "options":{"catch_up":true} in NDJSON.

                With --start-tokens the tokens are push-to-start tokens of an attributes type, and no name is followed.
                """,
            examples: "import devices.ndjson --name match-42", "import devices.csv --name match-42 --dry-run",
            "import tokens.ndjson --start-tokens MatchAttributes", "import - --name match-42 --json <devices.ndjson")

        @OptionGroup var upload: ImportOptions
        @Option(help: .value("name", "Name of the activity to follow."), completion: .names) var name: String?
        @Option(help: .value("type", "The tokens are push-to-start tokens of this attributes type."))
        var startTokens: String?

        func check() throws {
            guard (name == nil) != (startTokens == nil) else {
                throw ValidationError("give --name or --start-tokens")
            }
        }

        func run() async throws {
            if let startTokens {
                let path: GatewayPath = "/api/start-tokens/\(startTokens)/channels"
                return try await upload.run(path, .followers) { accepted in
                    "\(Terminal.grouped(accepted)) channels can be sent a start of \(startTokens)"
                }
            }
            let name = name ?? ""
            try await upload.run("/api/activities/\(name)/channels", .followers) { accepted in
                "\(Terminal.grouped(accepted)) channels follow \(name)"
            }
        }
    }

    struct Tags: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Tag many channels, or remove their tags.",
            details: """
                NDJSON has {"channel":"…","add":{"membership":["gold"]}} on each line, also with remove and set, which \
                replaces a group. CSV begins with a line of column names, of which channel and tag are required. It \
                may have group (default: device) and action (add or remove; default: add). Each line of CSV is for \
                one tag. The lines of a channel are applied in their order.
                """,
            examples: "import tags tags.csv", "import tags tags.ndjson --json")

        @OptionGroup var upload: ImportOptions

        func run() async throws {
            try await upload.run("/api/channels/bulk", .tags) { "\(Terminal.counted($0, "line")) of tags applied" }
        }
    }

    struct Users: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Give many channels their named users.",
            details: """
                NDJSON has {"channel":"…","named_user_id":"…"} on each line; null removes the channel's user. CSV begins \
                with the line channel,named_user_id.
                """,
            examples: "import users users.csv", "import users users.ndjson --json")

        @OptionGroup var upload: ImportOptions

        func run() async throws {
            try await upload.run("/api/channels/bulk", .users) { "\(Terminal.counted($0, "line")) of users applied" }
        }
    }
}
