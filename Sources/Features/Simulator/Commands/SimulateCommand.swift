import APNsSimulator
import ArgumentParser
import FoundationEssentials
import Logging
import Settings
import StrictJSON

struct SimulateCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "simulate", "Run a simulator that answers like Apple's and Google's push servers, with faults if asked.",
        details: """
            The simulator writes its certificates into --directory. A worker needs ca.pem as apns.ca_file and as \
            fcm.ca_file. Without --key-file it also writes a provider key, and always a service account for FCM. It \
            prints the settings that a worker needs to stdout. The control port shows what each token received: GET \
            /simulator/record, /simulator/tokens, /simulator/channels, /simulator/fcm/record and /simulator/fcm/tokens.
            """,
        examples: "simulate --port 8443 --control-port 8444",
        "simulate --dead-share 0.05 --latency 30 --reject TooManyRequests=0.01",
        "simulate --goaway-after 1000 --scenario faults.json --json")

    @OptionGroup var global: GlobalOptions
    @OptionGroup(title: "Server") var server: SimulatorServerOptions
    @OptionGroup(title: "Faults") var faults: SimulatorFaultOptions

    func check() throws { try server.check() }

    func run() async throws {
        let settings = try global.settings()
        let logger = global.logger("simulator", settings)
        var configuration = try server.configuration()
        configuration.faults = try faults.faults()
        configuration.scenario = try faults.scenario.map { (file) throws(SimulatorError) in
            try Scenario.read(file: file)
        }
        let simulator = try await APNsSimulator.start(configuration, logger: logger)
        announce(simulator)
        // A simulator whose addresses are lost cannot be reached.
        if Terminal.lostOutput != nil { throw CommandFailure(.failed, "") }
        try await ServiceRun.run([simulator], within: .seconds(5), logger: logger)
    }

    private static func whole(_ path: String) -> String { URL(fileURLWithPath: path).path }

    /// Prints the settings that a worker needs: one line of JSON, or the variables to set.
    private func announce(_ simulator: APNsSimulator) {
        let (url, manage, control) = (simulator.url, simulator.manageURL, simulator.controlURL)
        let key = simulator.keys.first
        // Print absolute paths, because a worker may run in another directory.
        let keyFile: String? = if case .file(let path) = key?.material { Self.whole(path) } else { nil }
        let caFile = Self.whole(simulator.caFile)
        let accountFile = simulator.serviceAccountFile.map(Self.whole)
        if global.json {
            let announcement = JSON.fields([
                "url": .string(url), "manage_url": manage.map(JSON.string), "control_url": control.map(JSON.string),
                "ca_file": .string(caFile), "key_file": keyFile.map(JSON.string),
                "key_id": key.map { .string($0.keyID) }, "team_id": key.map { .string($0.teamID) },
                "fcm_url": simulator.fcmURL.map(JSON.string), "fcm_service_account_file": accountFile.map(JSON.string),
            ])
            return Terminal.print(announcement.text)
        }
        Terminal.print("APNs simulator at \(url); a worker needs")
        let variables: [(AppField, String?)] = [
            (.url, url), (.manageURL, manage), (.caFile, caFile), (.keyFile, keyFile), (.keyID, key?.keyID),
            (.teamID, key?.teamID),
        ]
        for case (let variable, let value?) in variables { Terminal.print("  \(variable.environmentName)=\(value)") }
        if let url = simulator.fcmURL, let accountFile {
            Terminal.print("FCM simulator at \(url); a worker for Android needs")
            Terminal.print("  LAMPLIGHTER_FCM_URL=\(url)")
            Terminal.print("  LAMPLIGHTER_FCM_SERVICE_ACCOUNT_FILE=\(accountFile)")
            Terminal.print("  LAMPLIGHTER_FCM_CA_FILE=\(caFile)")
        }
        if let control { Terminal.print("what the tokens received: \(control)/simulator/record") }
    }
}
