import ArgumentParser
import Curl

/// `lamplighter track`: lets one channel follow a name.
struct TrackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "track",
        abstract: "Let a channel follow a name with a push token.",
        discussion: """
            Examples:
              lamplighter track order-1234 3f0c8a51-8a3e-4b9b-9a66-0c8a3f0c8a51 80f3…hex…
              lamplighter track match-42 my-device 0a1b2c --registered-at 1795276800000
              lamplighter track match-42 my-device 0a1b2c --catch-up
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "Name of the activity.")
    var name: String
    @Argument(help: "Id of the channel (one install of the app).")
    var channel: String
    @Argument(help: "The activity's push token, in hex.")
    var token: String
    @Option(name: .long, help: ArgumentHelp("When the device got the token; default: now.", valueName: "epoch-ms"))
    var registeredAt: Int?
    @Flag(name: .long, inversion: .prefixedNo, help: "Whether the user allows frequent updates.")
    var frequentPushes: Bool?

    @Flag(
        name: .long, inversion: .prefixedNo,
        help: "Send it the state published before, at once; default: as configured.")
    var catchUp: Bool?

    func run() async throws {
        let client = try gateway.client(global)
        let body = CommandJSON.object([
            ("token", CommandJSON.quoted(token)), ("registered_at_ms", registeredAt.map(String.init)),
            ("frequent_pushes_enabled", frequentPushes.map { "\($0)" }),
            ("options", catchUp.map { #"{"catch_up":\#($0)}"# }),
        ])
        let path = "/api/activities/\(GatewayClient.segment(name))/channels/\(GatewayClient.segment(channel))"
        let answer = try await client.send("PUT", path, body: .bytes(Array(body.utf8)))
        if global.json { return Terminal.print(json: answer) }
        Terminal.print("\(channel) follows \(name)")
    }
}
