import ArgumentParser
import Foundation
import TestSupport

extension Fleet.Transport: ExpressibleByArgument {}
extension RedisServers.Kind: ExpressibleByArgument {}
extension UpgradeOrder: ExpressibleByArgument {}

@main
struct Chaos: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chaos",
        abstract: "Publishes while processes are killed and APNs misbehaves; the simulator's record says what was kept."
    )

    @Option(help: "How long faults and publishes go on; everything is drained afterwards.")
    var minutes = 1.0
    @Option(help: "The same seed gives the same publishes, registrations and faults at the same times.")
    var seed: UInt64?
    @Option(help: "Tokens of the largest activity.")
    var largest = 50_000
    @Option(help: "The lamplighter to run; default: the one built beside this program.")
    var program: String?
    @Option(help: "The lamplighter of an older release, which gateways and workers begin with; with --upgrade.")
    var old: String?
    @Option(
        help: """
            Instead of faults, gateways and workers are restarted one by one as the new release, back as the old one, and as the \
            new one again.
            """)
    var upgrade: UpgradeOrder?
    @Option(help: "What the workers send over: libcurl, nghttp2, or mixed, which takes turns.")
    var transport = Fleet.Transport.mixed
    @Option(
        help: """
            One Redis on a socket (plain), one through TLS, a cluster of three primaries that are killed and stopped one by one, or a \
            primary and its replica that sentinels fail over (sentinel): chaos --redis cluster --seed 7.
            """)
    var redis = RedisServers.Kind.plain
    @Option(
        help: """
            What happens besides updates, ends, starts and registrations: all, none, usual, or a list of \
            \(Action.allCases.map(\.rawValue).joined(separator: ", ")).
            """)
    var actions = "usual"
    @Option(help: "Seconds after its 202 within which a phone that APNs answers for has a state, or a newer one.")
    var late = 120
    @Flag(help: "Print the outcome as one JSON object.")
    var json = false
    @Flag(help: "Print what the seed leads to, and do nothing.")
    var plan = false
    @Flag(help: "Keep the run's directory even if nothing is wrong.")
    var keep = false

    func validate() throws {
        guard (0.05...600).contains(minutes) else { throw ValidationError("--minutes is 0.05 to 600") }
        guard Action.parse(actions) != nil else { throw ValidationError("--actions: see --help") }
        guard (old == nil) == (upgrade == nil) else { throw ValidationError("--old and --upgrade go together") }
        guard (1...3_600).contains(late) else { throw ValidationError("--late is 1 to 3600") }
        guard (1...1_000_000).contains(largest) else { throw ValidationError("--largest is 1 to 1000000") }
    }

    func run() async throws {
        let seed = seed ?? UInt64.random(in: 1...999_999)
        var plan = Plan(
            seed: seed, milliseconds: Int(minutes * 60_000), largest: largest, redis: redis,
            actions: Action.parse(actions) ?? [])
        plan.late = Int64(late) * 1_000
        if let upgrade {
            plan.disturbances = upgrade.disturbances(plan.milliseconds)
            (plan.apnsFaults, plan.broadcastFaults) = ([], [])
            // The older release may not know Android.
            plan.android = nil
        }
        if self.plan { return print(plan.lines.joined(separator: "\n")) }
        // Use a short path, because a unix socket's path has at most 107 bytes.
        let directory = "/tmp/lamplighter-chaos-\(seed)-\(getpid())"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let found = Findings()
        let progress = Progress()
        progress.phase("seed \(seed)")
        let outcome: Run.Outcome
        do {
            outcome = try await Run(
                plan: plan, directory: directory, program: program ?? Program.path, oldProgram: old,
                transport: transport, found: found, progress: progress
            ).run()
        } catch {
            progress.clear()
            complain("the run itself failed, seed \(seed): \(error)\nlogs: \(directory)")
            throw ExitCode(1)
        }
        try end(Report(plan: plan, outcome: outcome, found: found), directory)
    }

    private func end(_ report: Report, _ directory: String) throws {
        let isGreen = report.found.isEmpty
        let details = report.details(.max)
        try (report.text + details).write(toFile: directory + "/report.txt", atomically: false, encoding: .utf8)
        print(json ? try report.json(directory: isGreen && !keep ? nil : directory) : report.text)
        if isGreen {
            if !keep { try? FileManager.default.removeItem(atPath: directory) }
            complain("✓ seed \(report.plan.seed)")
            return
        }
        if !json { print(report.details(5)) }
        complain(
            """
            ✗ seed \(report.plan.seed)
              again:   bin/chaos \(again(report.plan.seed))
              what:    \(directory)/report.txt
              when:    \(directory)/schedule.log, events.log
              logs:    \(directory)/logs
              Redis:   \(directory)/redis (append-only files)
            """)
        throw ExitCode(1)
    }

    private func again(_ seed: UInt64) -> String {
        "--redis \(redis.rawValue) --seed \(seed) --minutes \(minutes) --largest \(largest) --transport \(transport.rawValue)"
            + (actions == "usual" ? "" : " --actions \(actions)")
            + (late == 120 ? "" : " --late \(late)")
            + (upgrade.map { " --upgrade \($0.rawValue) --old \(old ?? "")" } ?? "")
    }

    private func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(("chaos: " + text + "\n").utf8))
    }
}
