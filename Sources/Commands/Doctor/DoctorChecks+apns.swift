import APNsClient
import APNsWire
import Curl
import Delivery
import Lanes
import LiveActivity
import Logging
import Settings

extension DoctorChecks {
    /// Sends one push to a token of one byte, as a worker would, with each key and to each environment. No device has
    /// this token, and APNs checks the credentials first, so a 400 BadDeviceToken proves that they are right.
    func apns(_ app: AppSettings, _ time: @escaping @Sendable () -> Int64) async -> [Finding] {
        var findings = await apns(app, "APNs \(app.key)", app.apnsOrigin, app.keyPairs, time)
        if let other = app.otherOrigin {
            findings += await apns(app, "APNs \(app.key), sandbox", other, app.otherKeyPairs, time)
        }
        return findings
    }

    private func apns(
        _ app: AppSettings, _ place: String, _ origin: String, _ pairs: [AppField.KeyPair],
        _ time: @escaping @Sendable () -> Int64
    ) async -> [Finding] {
        do throws(HTTPFailure) {
            try await APNsProbe.check(
                origin: origin, caFile: app[.caFile], timeout: settings.apns.requestTimeout)
        } catch {
            return [unreachable(place, origin, error, app)]
        }
        var findings: [Finding] = []
        for pair in pairs {
            let isSecond = pair == AppField.nextKey
            let subject = isSecond ? place + ", next key" : place
            var finding: Finding
            switch await probe(app, pair, origin, time) {
            case .answer(let status, let reason): finding = verdict(subject, origin, status, reason, pair)
            case .silent(let cause):
                let words = "\(origin) gives no answer over \(settings.apns.transport): \(cause)"
                finding = .bad(subject, words, "try again", .unreachable)
            case .unusable(let problem):
                finding = .bad(subject, problem, "set it right in the app's settings", .configuration)
            // The check of the key has already reported this.
            case .reported: continue
            }
            if let environments = await environments(app, pair, time) {
                finding.text += "; key \(app[pair.id] ?? "") is for \(environments)"
            }
            findings.append(finding)
        }
        return findings
    }

    private enum ProbeResult {
        case answer(status: Int, reason: String)
        case silent(String)
        case unusable(String)
        case reported

        /// APNs accepts the key in this environment; nil: it did not say.
        var acceptsKey: Bool? {
            guard case .answer(let status, let reason) = self else { return nil }
            if ["BadEnvironmentKeyInToken", "BadEnvironmentKeyIdInToken"].contains(reason) { return false }
            return [200, 400, 410].contains(status) ? true : nil
        }
    }

    /// The environments that a key is for, as far as APNs's answers tell. Nil if one of them is not known or silent.
    private func environments(
        _ app: AppSettings, _ pair: AppField.KeyPair, _ time: @escaping @Sendable () -> Int64
    ) async -> String? {
        guard let (production, sandbox) = app.environmentOrigins else { return nil }
        let answers = [
            await probe(app, pair, production, time).acceptsKey, await probe(app, pair, sandbox, time).acceptsKey,
        ]
        switch (answers[0], answers[1]) {
        case (true?, true?): return "production and sandbox"
        case (true?, false?): return "production only"
        case (false?, true?): return "the sandbox only"
        default: return nil
        }
    }

    /// - Parameter time: Redis's, as workers date their tokens, epoch ms.
    private func probe(
        _ app: AppSettings, _ pair: AppField.KeyPair, _ origin: String, _ time: @escaping @Sendable () -> Int64
    ) async -> ProbeResult {
        guard let pem = try? ProviderKeyFile(app, pair).pem, let teamID = app[.teamID], let keyID = app[pair.id]
        else { return .reported }
        let ring = APNsKeyRing([APNsKey(teamID: teamID, keyID: keyID, pem: pem)])
        guard var configuration = try? WorkCommand.configuration(app, settings, ring) else { return .reported }
        configuration.origin = origin
        configuration.lanes = 1
        configuration.clock = time
        let transport: any PushTransport
        do {
            // The findings report every problem, so the log stays silent.
            transport = try LaneTransport(
                settings.apns.transport, configuration: configuration,
                logger: Logger(label: "doctor", factory: { _ in SwiftLogNoOpLogHandler() }))
        } catch {
            if case .key = error { return .reported }
            return .unusable(error.description)
        }
        let push = PreparedPush(
            bundleID: app[.bundleID] ?? "", priority: .low, expiration: 0,
            payload: Array(#"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#.utf8))
        let outcome = await transport.send(Self.page, push)
        await transport.close()
        switch outcome.exceptions.first?.outcome {
        case .rejected(let rejection): return .answer(status: rejection.status, reason: rejection.reason)
        case .unanswered(let answer): return .silent(answer.cause.rawValue)
        case .accepted, nil: return .answer(status: 200, reason: "")
        }
    }

    private static var page: TokenPage {
        var page = TokenPage()
        page.append(channel: CollectionOfOne(0), token: CollectionOfOne(0), registeredAt: 0)
        return page
    }

    private func verdict(
        _ subject: String, _ origin: String, _ status: Int, _ reason: String, _ pair: AppField.KeyPair
    ) -> Finding {
        switch (status, reason) {
        case (200, _), (400, "BadDeviceToken"), (410, _): return .good(subject, "\(origin) takes the provider token")
        case (400, "DeviceTokenNotForTopic"), (400, "BadTopic"), (400, "TopicDisallowed"):
            let remedy = "check bundle_id, and that the key may send for it"
            return .bad(subject, "\(origin) does not accept the topic: \(reason)", remedy, .configuration)
        case (403, _):
            let words = "\(origin) does not accept the provider token: \(reason)"
            return .bad(subject, words, Self.remedy(reason, pair), .configuration)
        case (429, _), (500..., _):
            let remedy = "try again later; see developer.apple.com/system-status"
            return .warning(subject, "\(origin) answers \(status) \(reason)", remedy)
        default:
            return .bad(
                subject, "\(origin) answers \(status) \(reason)", "check apns.url: is that an APNs server?", .failed)
        }
    }

    /// The remedy for a 403.
    private static func remedy(_ reason: String, _ pair: AppField.KeyPair) -> String {
        switch reason {
        case "BadEnvironmentKeyInToken", "BadEnvironmentKeyIdInToken":
            let own = "\(AppField.sandboxKeyID.path) and \(AppField.sandboxKeyFile.path)"
            return "the key is for the other environment: make one for this environment, check "
                + "\(AppField.environment.path), and with environment both set \(own)"
        case "ExpiredProviderToken": return "the clock of this machine is wrong: run a time service"
        default:
            return "check \(AppField.teamID.path), \(pair.id.path), \(pair.file.path) and apns.environment: they must "
                + "belong together, and the key may have been revoked"
        }
    }

    private func unreachable(
        _ subject: String, _ origin: String, _ failure: HTTPFailure, _ app: AppSettings
    ) -> Finding {
        let text = "\(origin): \(failure)"
        switch failure.kind {
        case .transfer(.tls):
            let roots =
                app[.caFile].map { "it is not signed by \($0)" } ?? "for a server other than Apple's set apns.ca_file"
            return .bad(subject, text, "the certificate is not trusted: \(roots)", .configuration)
        case .transfer(.unresolvable): return .bad(subject, text, "check apns.url and the name service", .unreachable)
        case .http2Unavailable: return .bad(subject, text, "a proxy in between must let HTTP/2 pass", .unreachable)
        case .transfer, .privateAddress, .cancelled, .other:
            return .bad(subject, text, "check apns.url, and that the firewall lets this port out", .unreachable)
        }
    }
}
