import APNsClient
import FoundationEssentials
import Lanes
import Logging
import OpenSSL
import Redis
import Settings
import Store

/// The checks behind `doctor`. Each returns findings and never throws an error of its own.
struct DoctorChecks {
    let settings: Settings
    let logger: Logger

    func all() async -> [Finding] {
        var findings = configuration() + certificate() + openGateway() + apps()
        let redis = await redis()
        findings += redis.findings
        if let fault = settings.apns.transport.fault {
            findings.append(.warning("transport", fault.problem, fault.remedy))
        }
        for app in settings.apps {
            if app.usesAPNs {
                findings += await apns(app, redis.time)
                findings += await channels(app)
            }
            if app.usesFCM { findings += await fcm(app, redis.time) }
            for feature in ProcessFeature.ofFeatures { findings += await feature.ways(app, settings) }
        }
        findings += await collector()
        return findings
    }

    /// Checks who can read the configuration file, because it holds the apps' secrets and Redis's password.
    private func configuration() -> [Finding] {
        var findings = Finding.exposed("configuration", settings.file)
        findings += settings.quotedSecretFiles.map { .warning("secret", $0, "remove the quotes from the file") }
        let proxies = StartWarning.proxyVariables(ProcessInfo.processInfo.environment)
        if !proxies.isEmpty {
            let unused = StartWarning.unusedProxy(proxies)
            findings.append(.warning("proxy", unused.problem, unused.remedy))
        }
        return findings
    }

    private func apps() -> [Finding] {
        do {
            _ = try settings.requiredApps()
        } catch {
            return [.bad("apps", "none is configured", error.description, .configuration)]
        }
        return settings.apps.flatMap { app in
            let subject = "app \(app.key)"
            var findings: [Finding] = []
            let needed: [AppField] = [.secret, .masterSecret] + (app.usesAPNs ? [.bundleID, .teamID, .keyID] : [])
            let missing = needed.filter { app[$0] == nil }.map(\.path)
            if missing.isEmpty {
                findings.append(.good(subject, app[.bundleID] ?? "Android alone"))
            } else {
                let fields = missing.joined(separator: ", ")
                findings.append(.bad(subject, "not set: \(fields)", "set what is missing", .configuration))
            }
            if !app.shortSecrets.isEmpty {
                let fields = app.shortSecrets.map(\.path).joined(separator: ", ")
                let remedy = "use at least \(AppSettings.safeSecretBytes) characters"
                findings.append(.warning(subject, "can be guessed: \(fields)", remedy))
            }
            findings += ProcessFeature.ofFeatures.flatMap { $0.findings(app, settings) }
            do throws(SettingsError) {
                try app.checkCertificates()
                _ = try app.issuedCredentials()
            } catch {
                findings.append(.bad(subject, error.description, "correct the file", .configuration))
            }
            findings += app.credentials.flatMap {
                Finding.exposed("credential \(app.key)/\($0.credential.id)", $0.secretFile)
            }
            return findings + (app.usesAPNs ? app.allKeyPairs.map { key(app, $0) } : [])
        }
    }

    private func key(_ app: AppSettings, _ pair: AppField.KeyPair) -> Finding {
        let subject = pair == AppField.firstKey ? "APNs key \(app.key)" : "APNs key \(app.key), \(pair.id.path)"
        do {
            _ = try ProviderKeyFile(app, pair).key.es256(Array("lamplighter".utf8))
            let path = app[pair.file] ?? ""
            if let exposure = ProviderKeyFile.exposure(path) {
                return .warning(subject, "signs; \(exposure)", "chmod 600 \(path)")
            }
            return .good(subject, "a P-256 key that signs provider tokens")
        } catch let error as SettingsError {
            let remedy = "set \(pair.file.path) to the .p8 file of the key"
            return .bad(subject, error.description, remedy, .configuration)
        } catch {
            return .bad(subject, "does not sign: \(error)", "download the key again", .configuration)
        }
    }

    /// Checks the gateway's certificate, if it has one.
    private func certificate() -> [Finding] {
        guard let path = settings.gatewayTLS.certificate, let key = settings.gatewayTLS.key else { return [] }
        do {
            _ = try GatewayCertificate.read(settings.gatewayTLS)
        } catch {
            return [.bad("gateway TLS", error.description, "correct the file", .configuration)]
        }
        if let exposure = ProviderKeyFile.exposure(key) {
            return [.warning("gateway TLS", exposure, "chmod 600 \(key)")]
        }
        let pem = FileManager.default.contents(atPath: path).map { [UInt8]($0) } ?? []
        let days = (TLSIdentity.secondsLeft(pem) ?? 0) / 86_400
        if days < 14 { return [.warning("gateway TLS", "the certificate expires in \(days) days", "renew \(path)")] }
        return [.good("gateway TLS", "a certificate for \(days) more days, with its key")]
    }

    /// Also returns Redis's time as this machine knows it, epoch ms.
    private func redis() async -> (findings: [Finding], time: @Sendable () -> Int64) {
        let client = RedisInspection.client(settings, logger: logger)
        let store = Store(settings, redis: client)
        let time = store.time
        var findings: [Finding] = []
        do {
            try await RedisInspection.await(client, settings, logger: logger)
            let encryption = client.encryption.map { ", through \($0)" } ?? ""
            findings.append(.good("Redis", "answers at \(settings.redisURL)\(encryption)"))
            if settings.redisTLS.verification == .anything {
                let unchecked = StartWarning.uncheckedRedis
                findings.append(.warning("Redis", unchecked.problem, unchecked.remedy))
            }
            findings += Finding.exposed("Redis key", settings.redisTLS.key)
            let servers = try await RedisInspection.findings(client, settings)
            findings += servers.merged(\.all)
            let rights = await RedisInspection.rights(store, settings)
            findings += rights
            // The checks behind this one need them.
            if rights.contains(where: { $0.mark == .bad }) {
                await client.close()
                return (findings, time.now)
            }
            if let failover = RedisInspection.failover(settings) { findings.append(failover) }
            findings += await RedisInspection.secondSite(servers, settings, logger: logger)
            findings.append(try await format(store))
            if let waiting = try await RedisInspection.waiting(client, settings) { findings.append(waiting) }
            try await time.measure()
            findings.append(try await clock(client))
            findings += try await processes(store)
        } catch {
            let failure = CommandFailure(error) ?? CommandFailure(.failed, "\(error)")
            let lines = failure.message.split(separator: "\n", maxSplits: 1).map(String.init)
            findings.append(.bad("Redis", lines.first ?? "", lines.dropFirst().first ?? "check Redis", failure.status))
        }
        await client.close()
        return (findings, time.now)
    }

    /// Finds out whether another version has written what is stored.
    private func format(_ store: Store) async throws -> Finding {
        do throws(StoreError) {
            guard let found = try await store.checkFormat() else {
                return .good("stored format", "none yet; the first start writes \(StoredFormat.current)")
            }
            return .good("stored format", "\(found), which this version reads and writes")
        } catch .otherFormat(let found, let known) {
            let other = OtherFormat(found: found, known: known)
            return .bad("stored format", other.words, other.remedy, .configuration)
        }
    }

    /// Compares the clocks, because timestamps order the updates on a device and machines must agree on the time.
    private func clock(_ client: RedisClient) async throws -> Finding {
        let before = Date()
        let answers = try await client.onEachPrimary([RedisCommand("TIME")])
        let middle = (before.timeIntervalSince1970 + Date().timeIntervalSince1970) / 2
        var worst = (ahead: Int64(0), node: "")
        for (node, replies) in answers {
            guard let reply = try? replies[0].array(), reply.count == 2, let seconds = Double(try reply[0].string()),
                let micros = Double(try reply[1].string())
            else { return .warning("clock", "Redis did not tell its time", "check Redis") }
            let ahead = Int64(((middle - seconds - micros / 1e6) * 1_000).rounded())
            if abs(ahead) >= abs(worst.ahead) { worst = (ahead, node.map { " at \($0)" } ?? "") }
        }
        guard let difference = ClockDifference(ahead: worst.ahead) else {
            return .good("clock", "\(abs(worst.ahead)) ms from Redis's")
        }
        let remedy = "run a time service (chrony, systemd-timesyncd) on all machines"
        return .warning("clock", "\(difference)\(worst.node)", remedy)
    }
}

extension Finding {
    /// A warning if others can read a file with a secret; no file: none.
    static func exposed(_ subject: String, _ path: String?) -> [Finding] {
        guard let path, let exposure = ProviderKeyFile.exposure(path) else { return [] }
        return [.warning(subject, exposure, "chmod 600 \(path)")]
    }
}
