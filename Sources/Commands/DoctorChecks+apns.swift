import APNsClient
import Curl
import Foundation
import OpenSSL
import Settings

extension DoctorChecks {
    /// Sends one push to a token of one byte, which no device has. APNs checks the credentials first: 400 BadDeviceToken
    /// says that they are right, and nothing reaches a device.
    func apns(_ app: AppSettings) async -> [Finding] {
        let first = await apns(app, "APNs \(app.key)", app.apnsOrigin)
        guard let other = app.otherOrigin else { return first }
        return first + (await apns(app, "APNs \(app.key), sandbox", other))
    }

    private func apns(_ app: AppSettings, _ subject: String, _ origin: String) async -> [Finding] {
        guard let key = try? ProviderKeyFile(app).key, let token = try? providerToken(app, key: key) else { return [] }
        let found = await APNsProbe.check(
            origin: origin, caFile: app[.caFile], timeout: settings.worker.requestTimeout)
        guard found.isReachable else { return [unreachable(subject, origin, found, app)] }
        var request = HTTPRequest(
            "POST", "\(origin)/3/device/00",
            headers: [
                ("authorization", "bearer \(token)"), ("apns-push-type", "liveactivity"),
                ("apns-topic", "\(app[.bundleID] ?? "").push-type.liveactivity"), ("apns-priority", "5"),
                ("apns-expiration", "0"), ("content-type", "application/json"),
            ],
            body: .bytes(Array(#"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#.utf8)),
            caFile: app[.caFile], timeout: settings.worker.requestTimeout)
        request.requiresHTTP2 = true
        let response: HTTPResponse
        do {
            response = try await HTTPClient().send(request)
        } catch {
            return [.bad(subject, "\(origin) broke off: \(error.description)", "try again", .unreachable)]
        }
        let reason = (try? JSONDecoder().decode(Refusal.self, from: Data(response.body)))?.reason ?? "no reason"
        return [verdict(subject, origin, status: response.status, reason: reason)]
    }

    private func verdict(_ subject: String, _ origin: String, status: Int, reason: String) -> Finding {
        switch (status, reason) {
        case (200, _), (400, "BadDeviceToken"), (410, _):
            return .good(subject, "\(origin) takes the provider token")
        case (400, "DeviceTokenNotForTopic"), (400, "BadTopic"), (400, "TopicDisallowed"):
            return .bad(
                subject, "\(origin) does not accept the topic: \(reason)",
                "check bundle_id, and that the key may send for it", .configuration)
        case (403, _):
            return .bad(
                subject, "\(origin) does not accept the provider token: \(reason)",
                "check apns.team_id, apns.key_id, apns.key_file and apns.environment: they must belong together",
                .configuration)
        case (429, _), (500..., _):
            return .warning(
                subject, "\(origin) answers \(status) \(reason)",
                "try again later; see developer.apple.com/system-status")
        default:
            return .bad(
                subject, "\(origin) answers \(status) \(reason)", "check apns.url: is that an APNs server?", .failed)
        }
    }

    private func unreachable(
        _ subject: String, _ origin: String, _ found: APNsProbe.Finding, _ app: AppSettings
    ) -> Finding {
        let text = "\(origin): \(found)"
        switch found {
        case .untrusted:
            let roots =
                app[.caFile].map { "it is not signed by \($0)" } ?? "for a server other than Apple's set apns.ca_file"
            return .bad(subject, text, "the certificate is not trusted: \(roots)", .configuration)
        case .unresolvable:
            return .bad(subject, text, "check apns.url and the name service", .unreachable)
        case .notHTTP2:
            return .bad(subject, text, "a proxy in between must let HTTP/2 pass", .unreachable)
        case .reachable, .refused, .timeout, .other:
            return .bad(subject, text, "check apns.url, and that the firewall lets this port out", .unreachable)
        }
    }

    /// A JWT for this one request.
    private func providerToken(_ app: AppSettings, key: P256SigningKey) throws -> String {
        let head = #"{"alg":"ES256","kid":\#(JSONText.quoted(try app.required(.keyID)))}"#
        let claims =
            #"{"iss":\#(JSONText.quoted(try app.required(.teamID))),"iat":\#(Int(Date().timeIntervalSince1970))}"#
        let signed = Self.base64URL(Array(head.utf8)) + "." + Self.base64URL(Array(claims.utf8))
        return signed + "." + Self.base64URL(try key.es256(Array(signed.utf8)))
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private struct Refusal: Decodable {
        var reason: String
    }
}
