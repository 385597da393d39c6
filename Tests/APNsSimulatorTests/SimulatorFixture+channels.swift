import Curl
import Foundation
import Testing

@testable import APNsSimulator

extension SimulatorFixture {
    static let channelsPath = "/1/apps/\(bundleID)/channels"
    static let broadcastPath = "/4/broadcasts/apps/\(bundleID)"

    struct ChannelReply {
        var status: Int
        var reason: String?
        var channel: String?
        var requestID: String?
        var retryAfter: String?
        var body: String
    }

    /// Sends one request to channel management, on its own connection.
    func manage(
        _ method: String, path: String = channelsPath, headers: [(String, String)] = [], body: String? = nil,
        authorization: String? = nil
    ) async throws -> ChannelReply {
        let url = try #require(simulator.manageURL) + path
        return try await send(method, url, authorization, headers, body)
    }

    /// Creates a channel and returns its id.
    func createChannel(storesNewest: Bool = false) async throws -> String {
        let body = #"{"message-storage-policy":\#(storesNewest ? 1 : 0),"push-type":"LiveActivity"}"#
        let reply = try await manage("POST", body: body)
        #expect(reply.status == 201)
        return try #require(reply.channel)
    }

    static func broadcastHeaders(_ channel: String, expiration: String = "0") -> [(String, String)] {
        [
            ("apns-channel-id", channel), ("apns-push-type", "liveactivity"), ("apns-expiration", expiration),
            ("apns-priority", "10"),
        ]
    }

    func broadcast(
        _ headers: [(String, String)], payload: String = update(1_763_700_000), method: String = "POST",
        path: String = broadcastPath, authorization: String? = nil, timeout: Duration = .seconds(120)
    ) async throws -> ChannelReply {
        try await send(method, simulator.url + path, authorization, headers, payload, timeout: timeout)
    }

    private func send(
        _ method: String, _ url: String, _ authorization: String?, _ headers: [(String, String)], _ body: String?,
        timeout: Duration = .seconds(120)
    ) async throws -> ChannelReply {
        var request = HTTPRequest(method, url)
        let authorization = authorization ?? "bearer \(providerToken)"
        request.headers = (authorization.isEmpty ? [] : [("authorization", authorization)]) + headers
        request.body = body.map { .bytes(Array($0.utf8)) }
        request.caFile = simulator.caFile
        request.requiresHTTP2 = true
        request.timeout = timeout
        let response = try await HTTPClient().send(request)
        let json = try? JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        return ChannelReply(
            status: response.status, reason: json?["reason"] as? String, channel: response.header("apns-channel-id"),
            requestID: response.header("apns-request-id"), retryAfter: response.header("retry-after"),
            body: String(decoding: response.body, as: UTF8.self))
    }
}
