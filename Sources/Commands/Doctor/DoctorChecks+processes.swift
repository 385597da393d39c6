import LiveActivity
import Settings
import Store

extension DoctorChecks {
    /// Says which processes of the deployment run. A machine on which everything is right sends nothing without them.
    func processes(_ store: Store) async throws(StoreError) -> [Finding] {
        let gateways = try await store.reloads.processes().count { $0.kind == SettingsChange.Process.gateway.rawValue }
        var findings = [
            gateways > 0
                ? .good("gateways", "\(Terminal.counted(gateways, "gateway")) at work")
                : Finding.warning("gateways", "none runs, so nothing is accepted", "start one: lamplighter serve")
        ]
        for app in settings.apps {
            let workers = try await store.workers([app.key]).count(where: \.isAtWork)
            let subject = "workers \(app.key)"
            findings.append(
                workers > 0
                    ? .good(subject, "\(Terminal.counted(workers, "worker")) at work")
                    : .warning(
                        subject, "none runs for this app, so pushes are accepted and nothing is sent",
                        "start one: lamplighter work"))
        }
        return findings
    }
}
