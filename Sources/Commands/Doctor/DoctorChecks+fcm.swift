import FCMClient
import Settings

extension DoctorChecks {
    /// Checks the key file, gets an access token, and lets FCM check a message that nobody gets.
    func fcm(_ app: AppSettings, _ time: @escaping @Sendable () -> Int64) async -> [Finding] {
        let (keySubject, subject) = ("FCM key \(app.key)", "FCM \(app.key)")
        let path = app[.serviceAccountFile] ?? ""
        let account: ServiceAccount
        do {
            account = try ServiceAccountFile(app).account
        } catch {
            let remedy = "set \(AppField.serviceAccountFile.path) to the key file from the Firebase console"
            return [.bad(keySubject, "\(error)", remedy, .configuration)]
        }
        var configuration = FCMClientConfiguration(app, settings, LiveServiceAccount(account))
        configuration.clock = time
        var findings = Finding.exposed(keySubject, path)
        if findings.isEmpty { findings.append(.good(keySubject, "\(account)")) }
        do throws(FCMProbeError) {
            try await FCMProbe(configuration).check()
            findings.append(.good(subject, "\(app.fcmOrigin) takes messages for project \(account.projectID)"))
        } catch {
            findings.append(finding(subject, error))
        }
        return findings
    }

    private func finding(_ subject: String, _ error: FCMProbeError) -> Finding {
        switch error.problem {
        case .configuration: .bad(subject, error.description, "set it right in the app's settings", .configuration)
        case .refused:
            .bad(
                subject, error.description, "correct the account or the project in the Firebase console", .configuration
            )
        case .unreachable:
            .bad(
                subject, error.description,
                "check \(AppField.fcmURL.path) and \(AppField.fcmCAFile.path), and that the firewall lets this port out",
                .unreachable)
        case .busy: .warning(subject, error.description, "try again later; see status.firebase.google.com")
        }
    }
}
