import APNsSimulator
import ArgumentParser

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
