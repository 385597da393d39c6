import Foundation
import Logging
import OpenSSL
import Redis
import Settings

/// The checks behind `doctor`. Each returns findings and never throws an error of its own.
struct DoctorChecks {
    let settings: Settings
    let logger: Logger

    func all() async -> [Finding] {
        var findings = configuration() + apps()
        findings += await redis()
        for app in settings.apps {
            findings += await apns(app)
            findings += await channels(app)
        }
        return findings
    }

    /// Checks who can read the configuration file, because it holds the apps' secrets and Redis's password.
    private func configuration() -> [Finding] {
        guard let path = settings.file, let exposure = ProviderKeyFile.exposure(path) else { return [] }
        return [.warning("configuration", exposure, "chmod 600 \(path)")]
    }

    private func apps() -> [Finding] {
        do {
            _ = try settings.requiredApps()
        } catch {
            return [.bad("apps", "none is configured", error.description, .configuration)]
        }
        return settings.apps.flatMap { app in
            var findings: [Finding] = []
            let missing = [AppField.secret, .masterSecret, .bundleID, .teamID, .keyID].compactMap { field in
                app[field] == nil ? field.path : nil
            }
            if missing.isEmpty {
                findings.append(.good("app \(app.key)", app[.bundleID] ?? ""))
            } else {
                findings.append(
                    .bad(
                        "app \(app.key)", "not set: \(missing.joined(separator: ", "))", "set what is missing",
                        .configuration))
            }
            if !app.shortSecrets.isEmpty {
                let fields = app.shortSecrets.map(\.path).joined(separator: ", ")
                findings.append(
                    .warning(
                        "app \(app.key)", "can be guessed: \(fields)",
                        "use at least \(AppSettings.safeSecretBytes) characters"))
            }
            return findings + key(app)
        }
    }

    private func key(_ app: AppSettings) -> [Finding] {
        do {
            let file = try ProviderKeyFile(app)
            _ = try file.key.es256(Array("lamplighter".utf8))
            let path = app[.keyFile] ?? ""
            if let exposure = ProviderKeyFile.exposure(path) {
                return [.warning("APNs key \(app.key)", "signs; \(exposure)", "chmod 600 \(path)")]
            }
            return [.good("APNs key \(app.key)", "a P-256 key that signs provider tokens")]
        } catch let error as SettingsError {
            return [
                .bad(
                    "APNs key \(app.key)", error.description, "set apns.key_file to the .p8 file of the key",
                    .configuration)
            ]
        } catch {
            return [.bad("APNs key \(app.key)", "does not sign: \(error)", "download the key again", .configuration)]
        }
    }

    private func redis() async -> [Finding] {
        let client = RedisInspection.client(settings, logger: logger)
        var findings: [Finding] = []
        do {
            try await RedisInspection.await(client, settings, logger: logger)
            let encryption = client.encryption.map { ", through \($0)" } ?? ""
            findings.append(.good("Redis", "answers at \(settings.redisURL)\(encryption)"))
            if let path = settings.redisTLS.key, let exposure = ProviderKeyFile.exposure(path) {
                findings.append(.warning("Redis key", exposure, "chmod 600 \(path)"))
            }
            findings += try await RedisInspection.findings(client).merged(\.all)
            if let failover = RedisInspection.failover(settings) { findings.append(failover) }
            findings.append(try await clock(client))
        } catch {
            let failure = CommandFailure(error) ?? CommandFailure(.failed, "\(error)")
            let lines = failure.message.split(separator: "\n", maxSplits: 1).map(String.init)
            findings.append(.bad("Redis", lines.first ?? "", lines.dropFirst().first ?? "check Redis", failure.status))
        }
        await client.close()
        return findings
    }

    /// Compares the clocks, because timestamps order the updates on a device and machines must agree on the time.
    private func clock(_ client: RedisClient) async throws -> Finding {
        let before = Date()
        let answers = try await client.onEachPrimary([RedisCommand("TIME")])
        let after = Date()
        let middle = (before.timeIntervalSince1970 + after.timeIntervalSince1970) / 2
        var worst = (difference: 0, node: "")
        for (node, replies) in answers {
            guard let reply = try? replies[0].array(), reply.count == 2, let seconds = Double(try reply[0].string()),
                let micros = Double(try reply[1].string())
            else {
                return .warning("clock", "Redis did not tell its time", "check Redis")
            }
            let difference = abs(Int(((seconds + micros / 1e6 - middle) * 1_000).rounded()))
            if difference >= worst.difference { worst = (difference, node.map { " at \($0)" } ?? "") }
        }
        if worst.difference < 2_000 { return .good("clock", "\(worst.difference) ms from Redis's") }
        return .warning(
            "clock", "\(worst.difference) ms from Redis's\(worst.node)",
            "run a time service (chrony, systemd-timesyncd) on all machines")
    }
}
