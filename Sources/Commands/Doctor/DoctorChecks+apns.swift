import APNsClient
import APNsWire
import Curl
import LiveActivity
import Logging
import Settings

extension DoctorChecks {
    /// Sends one push to a token of one byte, as a worker would. No device has this token, and APNs checks the
    /// credentials first, so a 400 BadDeviceToken proves that they are right.
    func apns(_ app: AppSettings) async -> [Finding] {
        let first = await apns(app, "APNs \(app.key)", app.apnsOrigin)
        guard let other = app.otherOrigin else { return first }
        return first + (await apns(app, "APNs \(app.key), sandbox", other))
    }

    private func apns(_ app: AppSettings, _ subject: String, _ origin: String) async -> [Finding] {
        guard var configuration = try? WorkCommand.configuration(app, settings) else { return [] }
        configuration.origin = origin
        configuration.lanes = 1
        do throws(HTTPFailure) {
            try await APNsProbe.check(
                origin: origin, caFile: configuration.caFile, timeout: configuration.requestTimeout)
        } catch {
            return [unreachable(subject, origin, error, app)]
        }
        let transport: any PushTransport
        do {
            // The findings report every problem, so the log stays silent.
            transport = try LaneTransport(
                settings.apns.transport, configuration: configuration,
                logger: Logger(label: "doctor", factory: { _ in SwiftLogNoOpLogHandler() }))
        } catch {
            // The check of the key has already reported this.
            if case .key = error { return [] }
            return [.bad(subject, error.description, "set it right in the app's settings", .configuration)]
        }
        let push = PreparedPush(
            bundleID: app[.bundleID] ?? "", priority: .low, expiration: 0,
            payload: Array(#"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#.utf8))
        let outcome = await transport.send(Self.page, push)
        await transport.close()
        switch outcome.exceptions.first?.outcome {
        case .rejected(let rejection):
            return [verdict(subject, origin, status: rejection.status, reason: rejection.reason.wire)]
        case .unanswered(let answer):
            let words = "\(origin) gives no answer over \(settings.apns.transport): \(answer.cause.rawValue)"
            return [.bad(subject, words, "try again", .unreachable)]
        case .accepted, nil: return [verdict(subject, origin, status: 200, reason: "")]
        }
    }

    private static var page: TokenPage {
        var page = TokenPage()
        page.append(channel: CollectionOfOne(0), token: CollectionOfOne(0), registeredAt: 0)
        return page
    }

    private func verdict(_ subject: String, _ origin: String, status: Int, reason: String) -> Finding {
        switch (status, reason) {
        case (200, _), (400, "BadDeviceToken"), (410, _): return .good(subject, "\(origin) takes the provider token")
        case (400, "DeviceTokenNotForTopic"), (400, "BadTopic"), (400, "TopicDisallowed"):
            let remedy = "check bundle_id, and that the key may send for it"
            return .bad(subject, "\(origin) does not accept the topic: \(reason)", remedy, .configuration)
        case (403, _):
            let fields = "apns.team_id, apns.key_id, apns.key_file and apns.environment"
            let remedy = "check \(fields): they must belong together"
            return .bad(subject, "\(origin) does not accept the provider token: \(reason)", remedy, .configuration)
        case (429, _), (500..., _):
            let remedy = "try again later; see developer.apple.com/system-status"
            return .warning(subject, "\(origin) answers \(status) \(reason)", remedy)
        default:
            return .bad(
                subject, "\(origin) answers \(status) \(reason)", "check apns.url: is that an APNs server?", .failed)
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
