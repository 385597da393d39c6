import APNsSimulator
import ArgumentParser
import Foundation

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
            configuration.keys = [
                ProviderKey(keyID: keyID, teamID: teamID, material: .file(keyFile), bundleIDs: bundleID)
            ]
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

/// Options for the simulator's faults.
struct SimulatorFaultOptions: ParsableArguments {
    @Option(help: .value("share", "Share of tokens that are dead: 0 to 1.")) var deadShare: Double?
    @Option(
        help: .value("reason=weight", "A reason for dead tokens and its weight, such as BadDeviceToken=1. Repeatable."))
    var deadReason: [String] = []
    @Option(
        help: .value("reason=share", "A reason and its share of requests, such as TooManyRequests=0.01. Repeatable."))
    var reject: [String] = []
    @Option(help: .value("seconds", "Retry-After of every 429 and 503.")) var retryAfter: Int?
    @Option(help: .value("reason", "Every request gets this reason.")) var rejectAll: String?
    @Option(help: .value("number", "How many requests get 403 ExpiredProviderToken first.")) var expireNext: Int?
    @Option(help: .value("ms", "Milliseconds before each answer.")) var latency: Double?
    @Option(help: .value("ms", "The most milliseconds that chance adds to --latency.")) var latencyJitter: Double?
    @Option(help: .value("share", "Share of requests that are reset.")) var resetShare: Double?
    @Option(help: .value("share", "Share of requests that never get an answer.")) var stallShare: Double?
    @Option(help: .value("N", "Send GOAWAY at the Nth request of a connection.")) var goawayAfter: Int?
    @Option(help: .value("N", "Close each connection at its Nth request.")) var closeAfter: Int?
    @Option(help: .value("N", "Answer nothing after the Nth request of a connection.")) var stallAfter: Int?
    @Flag(help: "A rejection lowers the stream limit to 1. The next acceptance restores it.")
    var settingsDropOnRejection = false
    @Option(help: .value("file", "JSON file with faults. Flags override it.")) var faultsFile: String?
    @Option(
        help: .value("file", "JSON file with phases of faults. Each phase replaces the faults when its time comes."))
    var scenario: String?

    func faults() throws -> Faults {
        var faults = Faults()
        if let faultsFile {
            let text = try InputText.read("@" + faultsFile, "--faults-file")
            faults = try Faults.parse(Array(text.utf8), source: faultsFile)
        }
        if let deadShare { faults.deadShare = deadShare }
        if !deadReason.isEmpty { faults.deadReasons = try Self.pairs(deadReason, "--dead-reason") }
        if !reject.isEmpty { faults.rejections = try Self.pairs(reject, "--reject") }
        if let retryAfter { faults.retryAfter = retryAfter }
        if let rejectAll { faults.rejectAll = rejectAll }
        if let expireNext { faults.expireNext = expireNext }
        if let latency { faults.latency = latency }
        if let latencyJitter { faults.latencyJitter = latencyJitter }
        if let resetShare { faults.resetShare = resetShare }
        if let stallShare { faults.stallShare = stallShare }
        if let goawayAfter { faults.goawayAfter = goawayAfter }
        if let closeAfter { faults.closeAfter = closeAfter }
        if let stallAfter { faults.stallAfter = stallAfter }
        if settingsDropOnRejection { faults.settingsDropOnRejection = true }
        return faults
    }

    private static func pairs(_ texts: [String], _ option: String) throws -> [String: Double] {
        var found: [String: Double] = [:]
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let number = Double(parts[1]) else {
                throw ValidationError(
                    "\(option) must be a reason and a number, such as TooManyRequests=0.01, not '\(text)'")
            }
            found[parts[0]] = number
        }
        return found
    }
}
