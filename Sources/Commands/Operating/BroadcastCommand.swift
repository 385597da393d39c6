import APNsClient
import Answers
import APNsWire
import ArgumentParser
import LiveActivity
import Settings
import StrictJSON

struct BroadcastCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "broadcast", "Create, show, list or delete the broadcast channels of names (iOS 18).",
        details: """
            A push to a name with a broadcast channel is one request to APNs for all devices that subscribed to the \
            channel. It also goes to each token that follows the name. An app may have 10,000 channels. A worker must \
            run, because only workers speak to APNs.
            """,
        examples: "broadcast create match-42 --storage newest", "broadcast show match-42 --json",
        "broadcast delete match-42",
        subcommands: [Create.self, List.self, Show.self, Delete.self])

    struct Create: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Create a broadcast channel for a name. A channel that it already has stays.",
            examples: "broadcast create match-42", "broadcast create match-42 --storage newest --json")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var wait: Wait
        @Argument(help: "Name of the activity.", completion: .names) var name: String
        @Option(
            help: .value(
                "none|newest",
                "What APNs keeps for devices that subscribe late: none (more messages a minute) or newest (up to 8 h).")
        )
        var storage = "none"

        func check() throws {
            guard ["none", "newest"].contains(storage) else {
                throw ValidationError("--storage must be none or newest, not '\(storage)'")
            }
        }

        var request: GatewayRequest {
            .put("/api/activities/\(name)/broadcast?wait=\(wait.seconds)", ["storage": .string(storage)])
                .within(wait.timeout)
        }
        func lines(_ answer: BroadcastAnswer) -> [String] {
            if let channel = answer.broadcast.channel { return ["\(name) has channel \(channel)"] }
            return ["\(name) gets a channel as soon as a worker has made it: lamplighter broadcast show \(name)"]
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Show a name's broadcast channel.",
            examples: "broadcast show match-42", "broadcast show match-42 --apns --json")

        @OptionGroup var gateway: GatewayOptions
        @Flag(help: "Also ask APNs whether it has the channel, with the key that is configured here.") var apns = false
        @Argument(help: "Name of the activity.", completion: .names) var name: String

        func run() async throws {
            let settings = try gateway.settings()
            let app = try settings.app(named: gateway.app)
            let body = try await GatewayClient(settings, app).send(.get("/api/activities/\(name)/broadcast"))
            let answer: BroadcastAnswer = try GatewayClient.decode(body)
            var found: (key: String, text: String)?
            if apns, let channel = answer.broadcast.channel { found = try await Self.atAPNs(channel, app, settings) }
            if gateway.json {
                guard let found, let end = body.lastIndex(of: UInt8(ascii: "}")) else {
                    return Terminal.print(json: body)
                }
                let shown: JSON = [found.key: .string(found.text)]
                return Terminal.print(json: body[..<end] + Array(#","apns":\#(shown.text)}"#.utf8))
            }
            let channel = answer.broadcast
            Table(fields: [
                "name": answer.name, "channel": channel.channel ?? "none yet", "state": channel.state,
                "storage": channel.storage, "created": channel.createdAt, "deleted at": channel.deleteAt,
                "error": channel.error, "at APNs": found.map { $0.key == "storage" ? "storage \($0.text)" : $0.text },
            ]).print()
        }

        /// The channel's `storage` as APNs itself reports it, or the `error`: others with the key may have deleted it.
        private static func atAPNs(
            _ channel: String, _ app: AppSettings, _ settings: Settings
        ) async throws -> (key: String, text: String) {
            guard let origin = app.manageOrigin else {
                throw CommandFailure(.configuration, "apns.url is not Apple's, so apns.manage_url must be set too")
            }
            var configuration = try WorkCommand.configuration(app, settings)
            configuration.origin = origin
            let id = try BroadcastChannelID(channel)
            let channels = try BroadcastChannelManager(
                configuration: configuration, bundleID: try app.required(.bundleID))
            do throws(BroadcastChannelError) {
                return ("storage", try await channels.read(id).rawValue)
            } catch {
                return ("error", error.description)
            }
        }
    }

    struct List: GatewayCommand {
        static let configuration = CommandConfiguration(
            "List the app's broadcast channels, and how many of 10,000 are used.",
            examples: "broadcast list", "broadcast list --limit 1000 --json")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: .value("number", "List at most this many.")) var limit = 100
        @Option(help: .value("name", "List the channels of names after this one.")) var after: String?

        var request: GatewayRequest { .get("/api/broadcasts", ["limit": "\(limit)", "after": after]) }
        func lines(_ answer: BroadcastsAnswer) -> [String] {
            let foreign = answer.foreign > 0 ? ", and \(Terminal.grouped(answer.foreign)) made elsewhere" : ""
            let (used, limit) = (Terminal.grouped(answer.channels), Terminal.grouped(answer.limit))
            return Table.list(answer.broadcasts, .text("NAME", \.name), .id("CHANNEL", \.channel))
                + ["\(used) of \(limit) channels\(foreign)"]
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Delete a name's broadcast channel, here and at APNs. It asks first on a terminal.",
            details: "Devices that subscribed to the channel receive nothing more. The name may get another channel.",
            examples: "broadcast delete match-42", "broadcast delete match-42 --wait 0 --yes")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var wait: Wait
        @Argument(help: "Name of the activity.", completion: .names) var name: String
        @OptionGroup var asking: Asking

        func run() async throws {
            let question =
                "Delete the broadcast channel of \(name)? Devices that subscribed to it receive nothing more."
            try await asking.confirm({ question }, kept: "nothing was deleted")
            let path: GatewayPath = "/api/activities/\(name)/broadcast?wait=\(wait.seconds)"
            let answer = try await gateway.client().send(.delete(path).within(wait.timeout))
            // A response without a broadcast says that the channel is deleted.
            let isLater = (try? GatewayClient.decode(answer) as BroadcastAnswer) != nil
            let deleted: JSON = ["ok": true, "name": .string(name), "deleted": true]
            if gateway.json { return Terminal.print(json: isLater ? answer : deleted.bytes) }
            let later = "\(name)'s channel is deleted as soon as a worker gets to it"
            Terminal.print(isLater ? later : "\(name) has no channel any more")
        }
    }

    struct Wait: ParsableArguments {
        @Option(name: .customLong("wait"), help: .value("seconds", "Wait this long for a worker and APNs: 0 to 30."))
        var seconds = 10

        var timeout: Duration { .seconds(seconds + 30) }
    }
}
