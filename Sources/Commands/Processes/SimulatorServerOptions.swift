import APNsSimulator
import ArgumentParser

/// Options for the simulator's addresses and its clients.
struct SimulatorServerOptions: ParsableArguments {
    @Option(help: "Address to listen on.") var host = "127.0.0.1"
    @Option(help: "Port for APNs; 0 picks a free one.") var port = 8443
    @Option(help: "Port for channel management; 0 picks a free one.") var managePort = 0
    @Option(help: "Broadcast channels that an app may have.") var channelLimit = 10_000
    @Option(help: "Port of the control interface; 0 picks a free one.") var controlPort = 0
    @Option(help: .value("path", "Where certificates and keys are kept. It is created if missing."))
    var directory = ".simulator"
    @Option(help: .value("file", "A provider's key (.p8 or public PEM). Needs --key-id and --team-id."))
    var keyFile: String?
    @Option(help: .value("id", "The id of that key.")) var keyID: String?
    @Option(help: .value("id", "The team of that key.")) var teamID: String?
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

    func validate() throws {
        if keyFile != nil, keyID == nil || teamID == nil {
            throw ValidationError("--key-file needs --key-id and --team-id")
        }
        if keyFile == nil, keyID != nil || teamID != nil {
            throw ValidationError("--key-id and --team-id need --key-file")
        }
        guard [port, managePort, controlPort].allSatisfy((0...65_535).contains) else {
            throw ValidationError("a port is a number from 0 to 65535")
        }
    }

    func configuration() throws -> SimulatorConfiguration {
        var configuration = SimulatorConfiguration(certificateDirectory: directory)
        configuration.host = host
        configuration.port = port
        configuration.managePort = managePort
        configuration.channelLimit = channelLimit
        configuration.controlPort = controlPort
        configuration.bundleIDs = bundleID
        if let keyFile, let keyID, let teamID {
            let key = ProviderKey(keyID: keyID, teamID: teamID, material: .file(keyFile), bundleIDs: bundleID)
            configuration.keys = [key]
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
