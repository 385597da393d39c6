import ArgumentParser

struct UntrackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "untrack", "Stop a channel from following a name.",
        examples: "untrack order-1234 3f0c8a51-8a3e-4b9b-9a66-0c8a3f0c8a51")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity.") var name: String
    @Argument(help: "Id of the channel.") var channel: String

    func run() async throws {
        let request = GatewayRequest.delete("/api/activities/\(name)/channels/\(channel)")
        try await gateway.call(request, done: "\(channel) does not follow \(name)")
    }
}
