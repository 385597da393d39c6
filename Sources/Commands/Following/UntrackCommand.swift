import Answers
import ArgumentParser

struct UntrackCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "untrack", "Stop a channel from following a name, or all channels. For all it asks first on a terminal.",
        examples: "untrack order-1234 3f0c8a51-8a3e-4b9b-9a66-0c8a3f0c8a51", "untrack order-1234 --all",
        "untrack order-1234 --all --yes")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity.", completion: .names) var name: String
    @Argument(help: "Id of the channel.") var channel: String?
    @Flag(help: "Remove all channels that follow the name now.") var all = false
    @OptionGroup var asking: Asking

    func check() throws {
        guard (channel == nil) == all else { throw ValidationError("give a channel or --all") }
    }

    func run() async throws {
        if let channel {
            let request = GatewayRequest.delete("/api/activities/\(name)/channels/\(channel)")
            return try await gateway.call(request, done: "\(channel) does not follow \(name)")
        }
        let client = try gateway.client()
        try await asking.confirm({ try await question(client) }, kept: "nothing was removed")
        var removed = 0
        // A large name takes several requests.
        while true {
            let answer = try await client.send(.delete("/api/activities/\(name)/channels"))
            let part: RemovedAnswer = try GatewayClient.decode(answer)
            removed += part.removed
            if !part.complete { continue }
            if gateway.json { return Terminal.print("{\"ok\":true,\"removed\":\(removed)}") }
            return Terminal.print("\(Terminal.grouped(removed)) channels do not follow \(name) any more")
        }
    }

    private func question(_ client: GatewayClient) async throws -> String {
        let count = try await client.count(.get("/api/activities/\(name)")) { (activity: ActivityAnswer) in
            activity.tokens
        }
        let who = count.map { Terminal.counted($0, "channel") } ?? "all channels"
        return "Remove \(who) from \(name)? Their cards get no more updates, unless the apps register them again."
    }
}
