import ArgumentParser
import Settings
import StrictJSON

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "doctor", "Check configuration, keys, Redis, APNs and the clock.",
        details: """
            ✓ is right, ! works but should be changed, ✗ is wrong. Each ! and ✗ comes with a remedy. Exit codes: 0 \
            everything is usable, 69 Redis or APNs is not reachable, 78 the configuration is wrong, 1 anything else.
            """,
        examples: "doctor", "doctor --config /etc/lamplighter/lamplighter.yaml --json")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags

    func run() async throws {
        var findings: [Finding] = []
        do {
            let settings = try global.settings(redis.given)
            findings.append(
                .good("configuration", settings.file.map { "read from \($0)" } ?? "no file: flags and environment"))
            for warning in settings.warnings {
                findings.append(.warning("configuration", warning, "correct or remove it"))
            }
            findings += await DoctorChecks(settings: settings, logger: global.quietLogger("doctor", settings)).all()
        } catch let error as SettingsError {
            let remedy = "correct it; config/lamplighter.yaml lists every key"
            findings.append(.bad("configuration", error.description, remedy, .configuration))
        }
        print(findings)
        // A wrong configuration takes precedence over an unreachable server.
        let order: [ExitStatus] = [.configuration, .unreachable, .failed]
        let wrong = Set(findings.filter { $0.mark == .bad }.map(\.status))
        if let status = order.first(where: wrong.contains) { throw CommandFailure(status, "") }
    }

    private func print(_ findings: [Finding]) {
        if global.json {
            let checks: [JSON] = findings.map { finding in
                .fields([
                    "check": .string(finding.subject),
                    "result": .string(["✓": "ok", "!": "warning"][finding.mark.rawValue] ?? "error"),
                    "text": .string(finding.text), "remedy": finding.remedy.map(JSON.string),
                ])
            }
            let isFine = !findings.contains { $0.mark == .bad }
            let report: JSON = ["ok": .bool(isFine), "checks": .array(checks)]
            return Terminal.print(report.text)
        }
        let width = findings.map(\.subject.count).max() ?? 0
        for finding in findings {
            let padding = String(repeating: " ", count: width - finding.subject.count)
            let indent = "\n" + String(repeating: " ", count: width + 4)
            let text = finding.text.split(separator: "\n").joined(separator: indent)
            Terminal.print("\(finding.mark.rawValue) \(finding.subject)\(padding)  \(text)")
            guard let remedy = finding.remedy else { continue }
            Terminal.print("\(indent.dropFirst())→ \(remedy.split(separator: "\n").joined(separator: indent + "  "))")
        }
    }
}
