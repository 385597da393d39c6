import ArgumentParser

/// `lamplighter untrack`: ends that one channel follows a name.
struct UntrackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "untrack",
        abstract: "Let a channel follow a name no more.",
        discussion: """
            Example:
              lamplighter untrack order-1234 3f0c8a51-8a3e-4b9b-9a66-0c8a3f0c8a51
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "Name of the activity.")
    var name: String
    @Argument(help: "Id of the channel.")
    var channel: String

    func run() async throws {
        let client = try gateway.client(global)
        let path = "/api/activities/\(GatewayClient.segment(name))/channels/\(GatewayClient.segment(channel))"
        _ = try await client.send("DELETE", path)
        Terminal.print(global.json ? #"{"ok":true}"# : "\(channel) does not follow \(name)")
    }
}
