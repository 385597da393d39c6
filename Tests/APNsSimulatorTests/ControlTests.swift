import Foundation
import TestSupport
import Testing

@testable import APNsSimulator

@Suite(.timeLimit(.minutes(5)))
struct ControlTests {
    @Test func `the record and the tokens over HTTP`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            for number in 0..<3 {
                let payload = SimulatorFixture.update(1_763_700_000 + number, state: "{\"n\":\n1.50}")
                #expect(try await fixture.push(SimulatorFixture.token(number), payload: payload).status == 200)
            }
            var wrong = fixture.headers()
            wrong[3].1 = "7"
            _ = try await fixture.push(SimulatorFixture.token(0), headers: wrong)

            let record = try await fixture.control("GET", "/record")
            #expect(record.status == 200)
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            let decoded = try decoder.decode(SimulatorRecord.self, from: Data(record.text.utf8))
            #expect(decoded.accepted == 3)
            #expect(decoded.byReason == ["BadPriority": 1])
            #expect(record.text.contains(#""by_reason":{"BadPriority":1}"#))

            let lines = try await fixture.control("GET", "/tokens").text.split(separator: "\n")
            #expect(lines.count == 3)
            for line in lines {
                let object = try #require(
                    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                #expect(object["accepted"] as? Int == 1)
                #expect(line.contains(#""content_state":{"n": 1.50}"#))
            }

            let one = try await fixture.control("GET", "/tokens/\(SimulatorFixture.token(0).uppercased())")
            let object = try #require(try JSONSerialization.jsonObject(with: Data(one.text.utf8)) as? [String: Any])
            #expect(object["count"] as? Int == 2)
            let history = try #require(object["history"] as? [[String: Any]])
            #expect(history.map { $0["status"] as? Int } == [200, 400])
            #expect(history.last?["reason"] as? String == "BadPriority")

            #expect(try await fixture.control("GET", "/tokens/\(SimulatorFixture.token(7))").status == 404)
            #expect(try await fixture.control("GET", "/nothing").status == 404)
            #expect(try await fixture.control("POST", "/reset").status == 200)
            #expect(fixture.simulator.snapshot().requests == 0)
            #expect(try await fixture.control("GET", "/tokens").text.isEmpty)
        }
    }

    /// There are more lines than the simulator writes at a time.
    @Test func `many tokens are streamed`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            let headers = fixture.headers()
            // Send the first one alone, as APNs demands, and then a hundred at a time.
            for numbers in [0..<1] + stride(from: 1, to: 2_500, by: 100).map({ $0..<min($0 + 100, 2_500) }) {
                for number in numbers { try await connection.push(number, headers: headers) }
                for number in numbers { _ = try await connection.answer(stream: number) }
            }
            let lines = try await fixture.control("GET", "/tokens").text.split(separator: "\n")
            #expect(lines.count == 2_500)
            #expect(Set(lines.map { $0.prefix(200) }).count == 2_500)
            #expect(fixture.simulator.tokens().count == 2_500)
            await connection.close()
        }
    }

    @Test func `faults over HTTP`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let put = try await fixture.control("POST", "/faults", #"{"reject_all":"Shutdown"}"#)
            #expect(put.status == 200)
            let answer = try await fixture.push()
            #expect(answer.status == 503 && answer.reason == "Shutdown")
            #expect(try await fixture.control("GET", "/faults").text == put.text)

            let refused: [(json: String, word: String)] = [
                (#"{"dead_shar":1}"#, "dead_shar"), (#"{"dead_share":2}"#, "dead_share"),
                (#"{"rejections":{"Nonsense":0.1}}"#, "Nonsense"), (#"{"reject_all":"x"}"#, "reject_all"),
                (#"{"rejections":{"Shutdown":0.6,"TooManyRequests":0.6}}"#, "more than 1"),
                (#"{"dead_tokens":[{"prefix":"XY"}]}"#, "dead_tokens[0].prefix"),
                (#"{"dead_tokens":[{"prefix":"ab","reason":"Shutdown"}]}"#, "dead_tokens[0].reason"),
                (#"{"dead_tokens":[{"prefix":"ab","since":1}]}"#, "unknown key since;"),
                (#"{"refused_tokens":[{"prefix":"ab","reason":"Shutdown","since_ms":1}]}"#, "unknown key since_ms"),
                (#"{"goaway_mode":"rude"}"#, "goaway_mode"), (#"{"latency_ms":-1}"#, "latency_ms"),
                (#"{"settings":[{"after_requests":1}]}"#, "streams"), ("[]", "faults"), ("{", "faults"),
            ]
            for test in refused {
                let answer = try await fixture.control("POST", "/faults", test.json)
                #expect(answer.status == 400, "\(test.json)")
                #expect(answer.text.contains(test.word), "\(test.json): \(answer.text)")
            }
            // A refused change has no effect.
            #expect(fixture.simulator.faults.rejectAll == "Shutdown")
        }
    }

    @Test func `faults survive the way through JSON`() throws {
        var faults = Faults()
        faults.deadShare = 0.05
        faults.deadReasons = ["Unregistered": 9, "BadDeviceToken": 1]
        faults.deadTokens = [DeadToken(prefix: "ab", reason: "ExpiredToken", since: 5)]
        faults.refusedTokens = [RefusedToken(prefix: "cd", reason: "TopicDisallowed")]
        faults.rejections = ["TooManyRequests": 0.1]
        faults.broadcastRejections = ["TooManyRequests": 1]
        faults.manageRejections = ["FeatureNotEnabled": 1]
        faults.manageLoseNext = 2
        faults.latency = 30
        faults.goawayAfter = 1_000
        faults.retryAfter = 3
        faults.goawayMode = .abrupt
        faults.resetCode = .enhanceYourCalm
        faults.settings = [StreamLimitChange(afterRequests: 5, streams: 10)]
        faults.settingsDropOnRejection = true
        #expect(try Faults.parse(JSON.encode(faults), source: "faults") == faults)
        let scenario = Scenario(phases: [.init(afterRequests: 1, afterSeconds: 2.5, faults: faults)])
        let read: Scenario = try JSON.decode(JSON.encode(scenario), source: "scenario")
        #expect(read == scenario)
    }

    /// The examples of docs/features/simulator.md are correct.
    @Test func `the documented examples`() throws {
        let text = try Repository.text("docs/features/simulator.md")
        let examples = text.components(separatedBy: "```json\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
        #expect(examples.count == 2)
        let faults = try Faults.parse(Array(try #require(examples.first).utf8), source: "faults")
        #expect(faults.deadTokens == [DeadToken(prefix: "00ab", reason: "ExpiredToken", since: 1_795_276_800_000)])
        let file = FileManager.default.temporaryDirectory.appending(path: "scenario-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try #require(examples.last).write(to: file, atomically: true, encoding: .utf8)
        let scenario = try Scenario.read(file: file.path)
        #expect(scenario.phases.map(\.afterRequests) == [0, 5_000, nil, nil])
        // Each field has a row in the tables.
        for key in Faults.CodingKeys.allCases { #expect(text.contains("`\(key.stringValue)`"), "\(key.stringValue)") }
        var record = SimulatorRecord()
        (record.firstRequestAtMs, record.lastRequestAtMs, record.phase) = (0, 0, 0)
        let totals = try #require(
            try JSONSerialization.jsonObject(with: Data(JSON.encode(record))) as? [String: Any])
        let broadcasts = try #require(totals["broadcasts"] as? [String: Any])
        #expect(totals.count == 28 && broadcasts.count == 13)
        for key in Array(totals.keys) + broadcasts.keys { #expect(text.contains("`\(key)`"), "\(key)") }
    }
}
