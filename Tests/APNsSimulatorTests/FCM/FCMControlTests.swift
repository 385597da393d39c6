import Foundation
import TestSupport
import Testing

@testable import APNsSimulator

@Suite(.timeLimit(.minutes(5)))
struct FCMControlTests {
    @Test func `the record, the addresses and the faults over HTTP`() async throws {
        try await FCMFixture.run { fixture async throws in
            let access = try await fixture.accessToken()
            for number in 0..<3 {
                let body = FCMFixture.message(FCMFixture.token(number), event: "start")
                #expect(try await fixture.send(access, body).status == 200)
            }
            let record = try await fixture.control("GET", "/fcm/record")
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            let decoded = try decoder.decode(FCMRecord.self, from: Data(record.text.utf8))
            #expect(record.status == 200 && decoded.accepted == 3 && decoded.shown == 3)

            let lines = try await fixture.control("GET", "/fcm/tokens").text.split(separator: "\n")
            #expect(lines.count == 3 && fixture.simulator.fcmReports().count == 3)
            for line in lines {
                let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                #expect((object["token"] as? String)?.hasPrefix("c") == true && object["shown"] as? Int == 1)
                #expect(line.contains(#""content_state":{"n":1}"#))
            }
            let one = try await fixture.control("GET", "/fcm/tokens/" + FCMFixture.token(1))
            let object = try #require(try JSONSerialization.jsonObject(with: Data(one.text.utf8)) as? [String: Any])
            let history = try #require(object["history"] as? [[String: Any]])
            #expect(history.first?["high"] as? Bool == true && history.first?["status"] as? Int == 200)
            #expect(try await fixture.control("GET", "/fcm/tokens/x").status == 404)
            #expect(try await fixture.control("GET", "/fcm/nothing").status == 404)
            #expect(try await fixture.control("GET", "/fcm/newest").text.contains(#""message":{"#))

            let put = try await fixture.control("POST", "/fcm/faults", #"{"reject_all":"UNAVAILABLE"}"#)
            #expect(put.status == 200)
            #expect(try await fixture.send(access, FCMFixture.message()).status == 503)
            #expect(try await fixture.control("GET", "/fcm/faults").text == put.text)
            for (json, word) in [
                (#"{"reject_all":"Shutdown"}"#, "UNAVAILABLE"), (#"{"dead_reasons":{"INTERNAL":1}}"#, "dead_reasons"),
                (#"{"manage_lose_next":1}"#, "manage_lose_next"), (#"{"token_error":"x"}"#, "clock"),
                (#"{"reorder_share":2}"#, "reorder_share"), (#"{"dead_tokens":[{"prefix":""}]}"#, "prefix"),
            ] {
                let answer = try await fixture.control("POST", "/fcm/faults", json)
                #expect(answer.status == 400 && answer.text.contains(word), "\(answer.text)")
            }
            let other = try await fixture.control("POST", "/faults", #"{"reorder_share":0.5}"#)
            #expect(other.status == 400 && other.text.contains("reorder_share"))

            #expect(try await fixture.control("POST", "/reset").status == 200)
            #expect(fixture.simulator.fcmSnapshot().requests == 0 && fixture.simulator.fcmReports().isEmpty)
        }
    }

    /// Each name of a rejection, of a count and of an error is in docs/features/simulator.md.
    @Test func `the documented names`() throws {
        let text = try Repository.text("docs/features/simulator.md")
        var record = FCMRecord()
        (record.firstRequestAtMs, record.lastRequestAtMs) = (0, 0)
        let totals = try #require(try JSONSerialization.jsonObject(with: Data(JSON.encode(record))) as? [String: Any])
        let names =
            Array(totals.keys) + FCMReason.allCases.map(\.rawValue) + AccessTokenError.allCases.map(\.rawValue)
        for name in names { #expect(text.contains("`\(name)`"), "\(name)") }
    }

    @Test func `a simulator without FCM has no such calls`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            #expect(try await fixture.control("GET", "/fcm/record").status == 404)
            #expect(fixture.simulator.fcmURL == nil && fixture.simulator.serviceAccountFile == nil)
        }
    }
}
