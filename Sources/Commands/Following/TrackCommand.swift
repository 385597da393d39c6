import ArgumentParser
import LiveActivity
import StrictJSON

struct TrackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "track", "Let a channel follow a name with a push token.",
        examples: "track order-1234 3f0c8a51-8a3e-4b9b-9a66-0c8a3f0c8a51 80f3…hex…",
        "track match-42 my-device 0a1b2c --registered-at 1795276800000", "track match-42 my-device 0a1b2c --catch-up",
        "track match-42 my-phone fMEp…FCM… --platform android", "track match-43 my-phone --platform android")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity.", completion: .names) var name: String
    @Argument(help: "Id of the channel: one install of the app.") var channel: String
    @Argument(
        help: "The activity's push token, in hex. For Android FCM's registration token; none if it is known already.")
    var token: String?
    @Option(help: .value("platform", "ios or android.")) var platform = PlatformList([.ios])
    @Option(help: .value("epoch-ms", "When the device got the token. The default is now.")) var registeredAt: Int?
    @Flag(inversion: .prefixedNo, help: "Whether the user allows frequent updates.") var frequentPushes: Bool?
    @Flag(inversion: .prefixedNo, help: "Send the last published state at once. The default is defaults.catch_up.")
    var catchUp: Bool?

    func validate() throws {
        guard platform.all.count == 1 else { throw ValidationError("--platform must be ios or android") }
        if platform.all == [.ios], token == nil { throw ValidationError("the token is missing") }
    }

    func run() async throws {
        let body = JSON.fields([
            "token": token.map(JSON.string), "platform": platform.all == [.ios] ? nil : .string(platform.all[0].name),
            "registered_at_ms": registeredAt.map(JSON.integer),
            "frequent_pushes_enabled": frequentPushes.map(JSON.bool),
            "options": catchUp.map { ["catch_up": .bool($0)] },
        ])
        let request = GatewayRequest.put("/api/activities/\(name)/channels/\(channel)", body)
        try await gateway.call(request, done: "\(channel) follows \(name)")
    }
}
