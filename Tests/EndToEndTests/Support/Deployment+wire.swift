import Foundation
import TestSupport
import Testing

/// Helpers that compare a request to the gateway with the requests at APNs.
extension Deployment {
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// A push object in Airship's form.
    static func push(_ name: String, _ audience: String, _ fields: String, tail: String = "") -> String {
        #"{"audience":\#(audience),"device_types":["ios"],"notification":{"ios":{"live_activity":{"name":"\#(name)","#
            + #"\#(fields)}}}\#(tail)}"#
    }

    /// Publishes, and returns the ledger when the push is over.
    func post(
        _ name: String, _ audience: String, _ fields: String, tail: String = ""
    ) async throws -> (status: Int, text: String, ledger: Ledger?) {
        let answer = try await call(
            "POST", "\(gatewayURL)/api/push", body: Self.push(name, audience, fields, tail: tail))
        guard answer.status == 202, let id = (answer.json["push_ids"] as? [String])?.first else {
            return (answer.status, answer.text, nil)
        }
        try await eventually("\(name) is over: \(fields.prefix(80))") {
            ["done", "failed"].contains(try await ledger(id).state)
        }
        return (answer.status, answer.text, try await ledger(id))
    }

    /// Lets the channel with this number follow match-1 with its token.
    func follow(_ number: Int, _ fields: String) async throws {
        let answer = try await call(
            "PUT", "\(gatewayURL)/api/activities/match-1/channels/\(Self.channel(number))", user: "shop:shop-secret",
            body: #"{"token":"\#(Self.token(number))"\#(fields)}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Calls the API of a name's broadcast channel.
    func broadcast(
        _ method: String, _ name: String, _ body: String?
    ) async throws -> (status: Int, text: String, channel: String?) {
        let answer = try await call(method, "\(gatewayURL)/api/activities/\(name)/broadcast?wait=30", body: body)
        let channel = (answer.json["broadcast"] as? [String: Any])?["channel"] as? String
        return (answer.status, answer.text, channel)
    }

    /// The newest request of a kind: Apple's headers sorted by name, and the body.
    func newest(_ kind: String) async throws -> (fields: [String], body: String, timestamp: Int) {
        let all = try await call("GET", controlURL + "/simulator/newest", user: nil).json
        let request = try #require(all[kind] as? [String: Any])
        let fields = (request["fields"] as? [String] ?? []).filter { $0.hasPrefix("apns-") }.sorted()
        let body = request["body"] as? String ?? ""
        let timestamp = try #require(body.firstMatch(of: /^\{"aps":\{"timestamp":(\d{10}),/).flatMap { Int($0.1) })
        return (fields, body, timestamp)
    }
}
