import Curl
import Foundation
import LiveActivity
import TestSupport
import Testing

@testable import HTTPAPI

/// A browser without pictures: keeps the cookie, sends forms, does not follow redirects.
struct ConsoleBrowser: Sendable {
    let gateway: GatewayFixture
    private(set) var cookie: String?

    init(_ gateway: GatewayFixture, cookie: String? = nil) {
        self.gateway = gateway
        self.cookie = cookie
    }

    /// A browser that is signed in with the master secret, and the token of its forms.
    static func start(_ gateway: GatewayFixture) async throws -> (ConsoleBrowser, token: String) {
        var browser = ConsoleBrowser(gateway)
        #expect(try await browser.signIn().status == 303)
        return (browser, try await browser.formToken())
    }

    func get(_ path: String, headers: [(String, String)] = []) async throws -> Reply {
        try await send("GET", path, nil, headers)
    }

    func post(_ path: String, _ fields: KeyValuePairs<String, String>, headers: [(String, String)] = []) async throws
        -> Reply
    {
        try await post(path, fields.map { ($0, $1) }, headers: headers)
    }

    func post(_ path: String, _ fields: [(String, String)], headers: [(String, String)] = []) async throws -> Reply {
        let body = fields.map { "\($0.0.urlComponent)=\($0.1.urlComponent)" }.joined(separator: "&")
        return try await send("POST", path, body, headers)
    }

    /// Sends a form and goes where the answer leads, as a browser does.
    func submit(_ path: String, _ fields: KeyValuePairs<String, String>) async throws -> Reply {
        let reply = try await post(path, fields)
        guard reply.status == 303, let place = reply.header("location") else { return reply }
        return try await get(String(place.prefix { $0 != "#" }))
    }

    private func send(
        _ method: String, _ path: String, _ body: String?, _ headers: [(String, String)]
    ) async throws -> Reply {
        var headers = headers
        if let cookie { headers.append(("Cookie", "lamplighter_console=\(cookie)")) }
        if body != nil { headers.append(("Content-Type", "application/x-www-form-urlencoded")) }
        return Reply(
            try await HTTPClient().send(
                HTTPRequest(
                    method, "http://127.0.0.1:\(gateway.port)\(path)", headers: headers,
                    body: body.map { .bytes(Array($0.utf8)) }, timeout: .seconds(120))))
    }

    /// Signs in, and keeps the cookie if that went well.
    mutating func signIn(
        _ key: String = GatewayFixture.key, _ secret: String = GatewayFixture.masterSecret,
        headers: [(String, String)] = []
    ) async throws -> Reply {
        let reply = try await post("/console/sign-in", ["app_key": key, "secret": secret], headers: headers)
        if reply.status == 303, let set = reply.header("set-cookie") {
            let pair = try #require(set.split(separator: ";").first)
            cookie = String(try #require(pair.split(separator: "=").last))
        }
        return reply
    }

    /// The token in the forms of this session.
    func formToken() async throws -> String {
        let page = try await get("/console").text
        let start = try #require(page.range(of: #"name="csrf" value=""#)).upperBound
        return String(page[start...].prefix(64))
    }
}
