import Answers
import ArgumentParser

struct UntrackCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "untrack", "Stop a channel from following a name, or all channels.",
        examples: "untrack order-1234 3f0c8a51-8a3e-4b9b-9a66-0c8a3f0c8a51", "untrack order-1234 --all")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity.", completion: .names) var name: String
    @Argument(help: "Id of the channel.") var channel: String?
    @Flag(help: "Remove all channels that follow the name now.") var all = false

    func check() throws {
        guard (channel == nil) == all else { throw ValidationError("give a channel or --all") }
    }

    func run() async throws {
        if let channel {
            let request = GatewayRequest.delete("/api/activities/\(name)/channels/\(channel)")
            return try await gateway.call(request, done: "\(channel) does not follow \(name)")
        }
        let client = try gateway.client()
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
}
