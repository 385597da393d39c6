import APNsSimulator
import ArgumentParser
import Foundation

/// Options for the simulator's addresses and its clients.
struct SimulatorServerOptions: ParsableArguments {
    @Option(name: .long, help: "Address to listen on.")
    var host = "127.0.0.1"
    @Option(name: .long, help: "Port for APNs; 0 picks a free one.")
    var port = 8443
    @Option(name: .long, help: "Port for channel management; 0 picks a free one.")
    var managePort = 0
    @Option(name: .long, help: "Broadcast channels that an app may have.")
    var channelLimit = 10_000
    @Option(name: .long, help: "Port of the control interface; 0 picks a free one.")
    var controlPort = 0
    @Option(
        name: .long, help: ArgumentHelp("Where certificates and keys are kept; made if missing.", valueName: "path"))
    var directory = ".simulator"
    @Option(
        name: .long,
        help: ArgumentHelp("A provider's key (.p8 or public PEM); with --key-id and --team-id.", valueName: "file"))
    var keyFile: String?
    @Option(name: .long, help: ArgumentHelp("The id of that key.", valueName: "id"))
    var keyID: String?
    @Option(name: .long, help: ArgumentHelp("The team of that key.", valueName: "id"))
    var teamID: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Bundle id that the key (a given one or its own) may send for; repeatable; none = any.", valueName: "id")
    )
    var bundleID: [String] = []
    @Option(name: .long, help: "Streams allowed on a new connection, before its first valid provider token.")
    var initialStreams = 1
    @Option(name: .long, help: "Streams allowed after it.")
    var streams = 1_000
    @Option(
        name: .long,
        help: ArgumentHelp("Seconds added to the clock: makes provider tokens expire.", valueName: "seconds"))
    var clockOffset = 0
    @Option(name: .long, help: "The same seed gives the same dead tokens and the same faults.")
    var seed: UInt64 = 1
    @Option(name: .long, help: "Requests kept of each token.")
    var history = 16
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A number in content-state that only rises: the record tells what broke it.", valueName: "name")
    )
    var orderMember: String?
    @Flag(name: .long, help: "Count only, keep nothing of a token: for benchmarks.")
    var fast = false
    @Option(name: .long, help: "Threads.")
    var threads = 1

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
    @Option(name: .long, help: ArgumentHelp("Share of tokens that are dead: 0 to 1.", valueName: "share"))
    var deadShare: Double?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Answer of the dead with its weight, such as BadDeviceToken=1; repeatable.", valueName: "reason=weight"))
    var deadReason: [String] = []
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Share of requests with a reason, such as TooManyRequests=0.01; repeatable.", valueName: "reason=share"))
    var reject: [String] = []
    @Option(name: .long, help: ArgumentHelp("Retry-After of every 429 and 503.", valueName: "seconds"))
    var retryAfter: Int?
    @Option(name: .long, help: ArgumentHelp("Every request gets this reason.", valueName: "reason"))
    var rejectAll: String?
    @Option(
        name: .long, help: ArgumentHelp("So many requests get 403 ExpiredProviderToken first.", valueName: "number"))
    var expireNext: Int?
    @Option(name: .long, help: ArgumentHelp("Milliseconds before each answer.", valueName: "ms"))
    var latency: Double?
    @Option(name: .long, help: ArgumentHelp("Up to as many more.", valueName: "ms"))
    var latencyJitter: Double?
    @Option(name: .long, help: ArgumentHelp("Share of requests that are reset.", valueName: "share"))
    var resetShare: Double?
    @Option(name: .long, help: ArgumentHelp("Share of requests that never get an answer.", valueName: "share"))
    var stallShare: Double?
    @Option(name: .long, help: ArgumentHelp("GOAWAY at the Nth request of a connection.", valueName: "N"))
    var goawayAfter: Int?
    @Option(name: .long, help: ArgumentHelp("Close each connection at its Nth request.", valueName: "N"))
    var closeAfter: Int?
    @Option(name: .long, help: ArgumentHelp("No answers after the Nth request of a connection.", valueName: "N"))
    var stallAfter: Int?
    @Flag(name: .long, help: "A rejection lowers the stream limit to 1, the next acceptance restores it.")
    var settingsDropOnRejection = false
    @Option(name: .long, help: ArgumentHelp("JSON file with all faults; flags are put on top.", valueName: "file"))
    var faultsFile: String?
    @Option(
        name: .long,
        help: ArgumentHelp("JSON file with phases of faults; replaces them as its phases come.", valueName: "file"))
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
