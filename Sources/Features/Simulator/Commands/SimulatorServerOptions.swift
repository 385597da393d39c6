import APNsSimulator
import ArgumentParser

/// Options for the simulator's addresses and its clients.
struct SimulatorServerOptions: ParsableArguments {
    @Option(help: "Address to listen on.") var host = "127.0.0.1"
    @Option(help: "Port for APNs; 0 picks a free one.") var port = 8443
    @Option(help: "Port for channel management; 0 picks a free one.") var managePort = 0
    @Option(help: "Broadcast channels that an app may have.") var channelLimit = 10_000
    @Option(help: "Port for FCM (Android) and its access tokens; 0 picks a free one.") var fcmPort = 0
    @Option(help: .value("N", "Messages that FCM takes in a minute. Without it, any number.")) var fcmQuota: Int?
    @Option(help: "Port of the control interface; 0 picks a free one.") var controlPort = 0
    @Option(help: .value("path", "Where certificates and keys are kept. It is created if missing."))
    var directory = ".simulator"
    @Option(help: .value("file", "A provider's key (.p8 or public PEM). Repeatable. Needs --key-id and --team-id."))
    var keyFile: [String] = []
    @Option(help: .value("id", "The id of that key. One for each --key-file.")) var keyID: [String] = []
    @Option(help: .value("id", "The team of the keys.")) var teamID: String?
    @Option(help: "Without --key-file: how many keys the simulator makes, 1 or 2.") var keys = 1
    @Option(help: .value("key=environment", "A key that is for production or sandbox only. Repeatable."))
    var keyEnvironment: [String] = []
    @Option(help: "Which environment this simulator is: production or sandbox.")
    var environment = "production"
    @Option(help: .value("id", "Bundle id that the key may send for. Repeatable; without one, any."))
    var bundleID: [String] = []
    @Option(help: "Streams allowed on a new connection, before its first valid provider token.") var initialStreams = 1
    @Option(help: "Streams allowed after the first valid provider token.") var streams = 1_000
    @Option(help: .value("seconds", "Seconds added to the clock, to make provider tokens expire.")) var clockOffset = 0
    @Option(help: "The same seed gives the same dead tokens and the same faults.") var seed: UInt64 = 1
    @Option(help: "How many requests are kept for each token.") var history = 16
    @Option(help: .value("name", "A number in content-state that must only rise. The record shows where it did not."))
    var orderMember: String?
    @Flag(help: "Only count, and keep nothing of a token. For benchmarks.") var fast = false
    @Option(help: "How many threads serve connections.") var threads = 1

    func check() throws {
        if !keyFile.isEmpty, keyID.count != keyFile.count || teamID == nil {
            throw ValidationError("--key-file needs --key-id and --team-id")
        }
        if keyFile.isEmpty, !keyID.isEmpty || teamID != nil {
            throw ValidationError("--key-id and --team-id need --key-file")
        }
        guard ProviderKey.Environment(rawValue: environment) != nil else {
            throw ValidationError("--environment must be production or sandbox, not '\(environment)'")
        }
        let known = keyFile.isEmpty ? (1...max(1, keys)).map { "SIMULATOR\($0)" } : keyID
        for text in keyEnvironment {
            guard let (key, _) = Self.keyEnvironment(text), known.contains(key) else {
                throw ValidationError(
                    "--key-environment must be such as \(known[0])=sandbox, with one of \(known.joined(separator: ", "))"
                )
            }
        }
        guard [port, managePort, fcmPort, controlPort].allSatisfy((0...65_535).contains) else {
            throw ValidationError("a port is a number from 0 to 65535")
        }
    }

    private static func keyEnvironment(_ text: String) -> (String, ProviderKey.Environment)? {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, let environment = ProviderKey.Environment(rawValue: parts[1]) else { return nil }
        return (parts[0], environment)
    }

    func configuration() throws -> SimulatorConfiguration {
        var configuration = SimulatorConfiguration(certificateDirectory: directory)
        configuration.host = host
        configuration.port = port
        configuration.managePort = managePort
        configuration.channelLimit = channelLimit
        var fcm = FCMConfiguration()
        fcm.port = fcmPort
        fcm.quotaPerMinute = fcmQuota
        configuration.fcm = fcm
        configuration.controlPort = controlPort
        configuration.bundleIDs = bundleID
        let environments = Dictionary(keyEnvironment.compactMap(Self.keyEnvironment)) { $1 }
        configuration.ownKeys = keys
        configuration.environment = ProviderKey.Environment(rawValue: environment) ?? .production
        configuration.keyEnvironments = environments
        if let teamID {
            configuration.keys = zip(keyFile, keyID).map { file, id in
                ProviderKey(keyID: id, teamID: teamID, material: .file(file), bundleIDs: bundleID)
            }
        }
        configuration.initialStreams = initialStreams
        configuration.streams = streams
        configuration.clockOffset = clockOffset
        configuration.seed = seed
        configuration.history = history
        configuration.orderMember = orderMember
        configuration.fast = fast
        configuration.threads = threads
        return configuration
    }
}
