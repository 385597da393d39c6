import ArgumentParser
import Curl
import Settings

/// `lamplighter broadcast`: manages the broadcast channels of names.
struct BroadcastCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broadcast",
        abstract: "Give a name a broadcast channel (iOS 18), show it, list all, or delete one.",
        discussion: """
            A push to a name with a channel goes to APNs once for all devices that subscribed to the channel, and to each \
            token that follows the name besides. An app may have 10,000 channels; a worker has to run, since it is \
            workers that speak to APNs.

            Examples:
              lamplighter broadcast create match-42 --storage newest
              lamplighter broadcast show match-42 --json
              lamplighter broadcast delete match-42
            """,
        subcommands: [Create.self, List.self, Show.self, Delete.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a channel for a name; what it has already stays.",
            discussion: """
                Examples:
                  lamplighter broadcast create match-42
                  lamplighter broadcast create match-42 --storage newest --json
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var wait: Wait
        @Argument(help: "Name of the activity.")
        var name: String
        @Option(
            name: .long,
            help: ArgumentHelp(
                "What APNs keeps for devices that subscribe late: none (more messages a minute) or newest (up to 8 h).",
                valueName: "none|newest"))
        var storage = "none"

        func validate() throws {
            guard ["none", "newest"].contains(storage) else {
                throw ValidationError("--storage must be none or newest, not '\(storage)'")
            }
        }

        func run() async throws {
            let body = CommandJSON.object([("storage", CommandJSON.quoted(storage))])
            let answer = try await gateway.client(global).send(
                "PUT", Self.path(name) + "?wait=\(wait.seconds)", body: .bytes(Array(body.utf8)),
                timeout: .seconds(wait.seconds + 30))
            if global.json { return Terminal.print(json: answer) }
            let result = try GatewayClient.decode(Answer.self, answer)
            Terminal.print(
                result.broadcast.channel.map { "\(name) has channel \($0)" }
                    ?? "\(name) gets a channel as soon as a worker has made it: lamplighter broadcast show \(name)")
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a name's channel.",
            discussion: """
                Examples:
                  lamplighter broadcast show match-42
                  lamplighter broadcast show match-42 --apns --json
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @Flag(name: .long, help: "Ask APNs too whether it has the channel, with the key that is configured here.")
        var apns = false
        @Argument(help: "Name of the activity.")
        var name: String

        func run() async throws {
            let settings = try global.settings(gateway.values)
            let app = try settings.app(named: gateway.app)
            let answer = try await gateway.client(settings, app).send("GET", Self.path(name))
            let result = try GatewayClient.decode(Answer.self, answer)
            var found: BroadcastChannelAtAPNs?
            if apns, let channel = result.broadcast.channel {
                found = try await BroadcastChannelAtAPNs(channel, app, settings)
            }
            if global.json {
                guard let found, let end = answer.lastIndex(of: UInt8(ascii: "}")) else {
                    return Terminal.print(json: answer)
                }
                return Terminal.print(json: answer[..<end] + Array(#","apns":\#(found.json)}"#.utf8))
            }
            var table = Table(.left, .left)
            table.add("name", result.name)
            table.add("channel", result.broadcast.channel ?? "none yet")
            table.add("state", result.broadcast.state)
            table.add("storage", result.broadcast.storage)
            if let created = result.broadcast.created_at { table.add("created", created) }
            if let deleted = result.broadcast.delete_at { table.add("deleted at", deleted) }
            if let error = result.broadcast.error { table.add("error", error) }
            if let found { table.add("at APNs", found.text) }
            table.print()
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the app's channels and how many of 10,000 are used.",
            discussion: """
                Examples:
                  lamplighter broadcast list
                  lamplighter broadcast list --limit 1000 --json
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @Option(name: .long, help: ArgumentHelp("List at most this many.", valueName: "number"))
        var limit = 100
        @Option(name: .long, help: ArgumentHelp("List those of names after this one.", valueName: "name"))
        var after: String?

        func run() async throws {
            let cursor = after.map { "&after=\(GatewayClient.segment($0))" } ?? ""
            let answer = try await gateway.client(global).send("GET", "/api/broadcasts?limit=\(limit)\(cursor)")
            if global.json { return Terminal.print(json: answer) }
            let listing = try GatewayClient.decode(Listing.self, answer)
            if !listing.broadcasts.isEmpty {
                var table = Table(.left, .left)
                table.add("NAME", "CHANNEL")
                for entry in listing.broadcasts { table.add(entry.name, entry.channel) }
                table.print()
            }
            let foreign = listing.foreign > 0 ? ", and \(Terminal.grouped(listing.foreign)) made elsewhere" : ""
            Terminal.print(
                "\(Terminal.grouped(listing.channels)) of \(Terminal.grouped(listing.limit)) channels\(foreign)")
        }

        private struct Listing: Decodable {
            struct Entry: Decodable {
                var name: String
                var channel: String
            }
            var channels: Int
            var foreign: Int
            var limit: Int
            var broadcasts: [Entry]
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a name's channel, here and at APNs.",
            discussion: """
                Devices that subscribed to it receive nothing more, and the name is free for another one.

                Examples:
                  lamplighter broadcast delete match-42
                  lamplighter broadcast delete match-42 --wait 0
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var wait: Wait
        @Argument(help: "Name of the activity.")
        var name: String

        func run() async throws {
            let answer = try await gateway.client(global).send(
                "DELETE", Self.path(name) + "?wait=\(wait.seconds)", timeout: .seconds(wait.seconds + 30))
            if global.json {
                let done = CommandJSON.object([("ok", "true"), ("name", CommandJSON.quoted(name)), ("deleted", "true")])
                return Terminal.print(json: answer.isEmpty ? Array(done.utf8) : answer)
            }
            Terminal.print(
                answer.isEmpty
                    ? "\(name) has no channel any more" : "\(name)'s channel is deleted as soon as a worker gets to it")
        }
    }

    struct Wait: ParsableArguments {
        @Option(
            name: .customLong("wait"),
            help: ArgumentHelp("Wait this long for a worker and APNs: 0 to 30.", valueName: "seconds"))
        var seconds = 10
    }

    struct Answer: Decodable {
        struct Channel: Decodable {
            var state: String
            var storage: String
            var channel: String?
            var created_at: String?
            var delete_at: String?
            var error: String?
        }
        var name: String
        var broadcast: Channel
    }
}

extension ParsableCommand {
    fileprivate static func path(_ name: String) -> String {
        "/api/activities/\(GatewayClient.segment(name))/broadcast"
    }
}
