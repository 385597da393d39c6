import Curl
import Foundation
import TestSupport
import Testing

/// Traces as an operator sets them up, with every process.
@Suite("Traces for a collector")
struct TraceStoryTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    private struct Span {
        var process, name, trace, parent: String
        var attributes: [String: String]
    }

    private func spans(_ collector: HTTPSReceiver) throws -> [Span] {
        try collector.requests.flatMap { request in
            let json = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
            return try (json["resourceSpans"] as? [[String: Any]] ?? []).flatMap { resource in
                let process = attributes(resource["resource"] as? [String: Any])["service.name"] ?? ""
                let scopes = try #require(resource["scopeSpans"] as? [[String: Any]])
                return scopes.flatMap { $0["spans"] as? [[String: Any]] ?? [] }.map { span in
                    Span(
                        process: process, name: span["name"] as? String ?? "", trace: span["traceId"] as? String ?? "",
                        parent: span["parentSpanId"] as? String ?? "", attributes: attributes(span))
                }
            }
        }
    }

    private func attributes(_ object: [String: Any]?) -> [String: String] {
        (object?["attributes"] as? [[String: Any]] ?? []).reduce(into: [:]) { all, attribute in
            let value = (attribute["value"] as? [String: String])?.values.first
            all[attribute["key"] as? String ?? ""] = value
        }
    }

    private func publish(_ deployment: Deployment, _ name: String, traceparent: String?) async throws -> Int {
        var headers = [
            ("Content-Type", "application/json"),
            ("Authorization", "Basic " + Data("shop:shop-master".utf8).base64EncodedString()),
        ]
        if let traceparent { headers.append(("traceparent", traceparent)) }
        let body = Deployment.push(name, #""all""#, #""event":"update","content_state":{}"#)
        return try await HTTPClient().send(
            HTTPRequest("POST", "\(deployment.gatewayURL)/api/push", headers: headers, body: .bytes(Array(body.utf8)))
        ).status
    }

    @Test func `a publisher's trace goes through gateway and worker to the outgoing event`() async throws {
        let collector = try HTTPSReceiver { _ in .status(200, body: Array("{}".utf8)) }
        let deployment = try await Deployment.start(environment: [
            "LAMPLIGHTER_TRACES_ENDPOINT": String(collector.url.dropLast("/hook".count)),
            "LAMPLIGHTER_TRACES_CA_FILE": collector.caFile,
            // Only what the test publishes with a traceparent, so that it can count.
            "LAMPLIGHTER_TRACES_SAMPLE": "0", "LAMPLIGHTER_EVENTS_KEEP": "100",
        ])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        for name in ["match-1", "match-2"] { _ = try await deployment.importChannels(3, name: name) }
        #expect(try await publish(deployment, "match-2", traceparent: nil) == 202)
        #expect(try await publish(deployment, "match-2", traceparent: "00-\(Self.trace)-00f067aa0ba902b7-00") == 202)
        #expect(try await publish(deployment, "match-1", traceparent: "00-\(Self.trace)-00f067aa0ba902b7-01") == 202)
        try await eventually("all is told") { try spans(collector).count >= 4 }
        let all = try spans(collector)
        try #require(Set(all.map(\.name)) == ["POST /api/push", "wait", "begin", "page"] && all.count == 4)
        #expect(all.allSatisfy { $0.trace == Self.trace })
        let accepted = try #require(all.first { $0.name == "POST /api/push" })
        #expect(accepted.parent == "00f067aa0ba902b7" && accepted.process == "lamplighter-gateway")
        #expect(accepted.attributes["http.response.status_code"] == "202")
        let page = try #require(all.first { $0.name == "page" })
        #expect(page.process == "lamplighter-worker" && page.parent != accepted.parent)
        #expect(page.attributes["lamplighter.delivered"] == "3" && page.attributes["lamplighter.tokens"] == "3")
        let push = try #require(accepted.attributes["lamplighter.push"])
        for span in all {
            #expect(span.attributes["lamplighter.app"] == "shop", "\(span.name)")
            #expect(span.attributes["lamplighter.push"] == push, "\(span.name)")
        }
        try await eventually("its event has the trace") {
            let events = try await deployment.run("events", "--all", "--no-follow", "--json")
            return events.out.contains(#""traceparent":"00-\#(Self.trace)-\#(page.parent)-01""#)
        }
        // Nothing of a device, and nothing of what was published.
        let token = Deployment.token(1)
        #expect(!collector.requests.contains { $0.text.contains(token) || $0.text.contains("content-state") })
    }
}
