import Foundation
import TestSupport
import Testing

/// Tests phones whose requests APNs never answers. With many followers some are always silent.
@Suite("Phones that are silent")
struct SilentPhoneTests {
    /// No request of a silent phone is over before the test.
    private static let patient = ["LAMPLIGHTER_WORKER_REQUEST_TIMEOUT": "300s"]

    /// A kind of push as publishers send it. The first one is the default.
    enum Kind: CaseIterable {
        case update, alert, notConflated

        /// Further members of the update, and of the push.
        var fields: String { self == .alert ? #","alert":{"title":"Goal"}"# : "" }
        var tail: String { self == .notConflated ? #","options":{"conflate":false}"# : "" }
    }

    @Test(arguments: Kind.allCases, ["nghttp2", "libcurl"])
    func `each push is at every other follower although three are never answered`(
        _ kind: Kind, _ transport: String
    ) async throws {
        let (count, silent) = (503, [0, 251, 502])
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker(
            "one", Self.patient.merging(["LAMPLIGHTER_WORKER_TRANSPORT": transport]) { $1 })
        defer { worker.kill() }
        try await deployment.silence(silent)
        #expect(try await deployment.importChannels(count, name: "match-1").code == 0)
        var pushes: [String] = []
        for score in 1...4 {
            pushes.append(try await deployment.publish("match-1", score, kind))
            try await eventually("push \(score) is delivered") {
                try await deployment.ledger(pushes[score - 1])["delivered"] == count - silent.count
            }
        }
        // Nothing had to be given up for that, and each silent phone has one request.
        let record = try await deployment.record()
        #expect(record["cancelled"] as? Int == 0 && record["duplicates"] as? Int == 0)
        #expect(record["out_of_order"] as? Int == 0)
        for number in silent {
            let received = try await deployment.received(Deployment.token(number))
            #expect(received["count"] as? Int == 1, "\(received)")
        }
        for (index, push) in pushes.enumerated() {
            let ledger = try await deployment.ledger(push)
            #expect(ledger["targets"] == count && ledger.addsUp)
            // Of plain updates the newest two are in the silent phones' queues. They superseded the others.
            let isLeft = kind != .update || index >= pushes.count - 2
            #expect(ledger[isLeft ? "pending" : "superseded"] == silent.count)
        }
    }

    @Test(arguments: ["nghttp2", "libcurl"])
    func `each update is at every other phone although two fifths are never answered`(
        _ transport: String
    ) async throws {
        let (count, silent) = (1_000, (0..<1_000).filter { $0 % 5 < 2 })
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker(
            "one", Self.patient.merging(["LAMPLIGHTER_WORKER_TRANSPORT": transport]) { $1 })
        defer { worker.kill() }
        try await deployment.silence(silent)
        #expect(try await deployment.importChannels(count, name: "match-1").code == 0)
        for score in 1...6 {
            let push = try await deployment.publish("match-1", score)
            try await eventually("push \(score) is delivered") {
                try await deployment.ledger(push)["delivered"] == count - silent.count
            }
        }
        let record = try await deployment.record()
        #expect(record["accepted"] as? Int == 6 * (count - silent.count))
        #expect(record["stalled"] as? Int == silent.count, "each silent phone has one request")
        #expect(record["duplicates"] as? Int == 0 && record["out_of_order"] as? Int == 0)
    }

    @Test func `a phone that answers again gets the newest state, and the repetition is counted`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one", ["LAMPLIGHTER_WORKER_REQUEST_TIMEOUT": "8s"])
        defer { worker.kill() }
        try await deployment.silence([0])
        #expect(try await deployment.importChannels(2, name: "match-1").code == 0)
        var last = ""
        for score in 1...3 {
            last = try await deployment.publish("match-1", score)
            try await eventually("push \(score) is delivered") { try await deployment.ledger(last)["delivered"] == 1 }
        }
        try await deployment.silence([])
        let ended = try Ledger(try await deployment.run("push", last, "--wait", "--json").out)
        #expect(ended.state == "done" && ended["delivered"] == 2 && ended.addsUp)
        let phone = try await deployment.received(Deployment.token(0))
        #expect((phone["content_state"] as? String ?? "\(phone["content_state"] ?? "")").contains("3"), "\(phone)")
        #expect(phone["out_of_order"] as? Int == 0 && phone["duplicates"] as? Int == 0)
    }

    @Test func `an end reaches the others at once, and closes the name`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one", Self.patient)
        defer { worker.kill() }
        try await deployment.silence([0])
        #expect(try await deployment.importChannels(50, name: "match-1").code == 0)
        let update = try await deployment.publish("match-1", 1)
        try await eventually("the update is delivered") { try await deployment.ledger(update)["delivered"] == 49 }
        let end = try await deployment.run("publish", "match-1", "--event", "end", "--content-state", #"{"score":2}"#)
        #expect(end.code == 0, "\(end.err)")
        let push = end.out.trimmingCharacters(in: .whitespacesAndNewlines)
        try await eventually("the end is delivered") { try await deployment.ledger(push)["delivered"] == 49 }
        #expect(try await deployment.ledger(push)["pending"] == 1)
        let late = try await deployment.run("publish", "match-1", "--content-state", #"{"score":3}"#)
        #expect(late.code != 0 && late.err.contains("end"), "\(late.err)")
    }

    @Test func `a worker that dies with open requests leaves them to the next one, after their time`() async throws {
        let deployment = try await Deployment.start()
        let short = ["LAMPLIGHTER_WORKER_REQUEST_TIMEOUT": "4s", "LAMPLIGHTER_WORKER_CLAIM_AFTER": "4s"]
        let first = try await deployment.worker("first", short)
        try await deployment.silence([0])
        #expect(try await deployment.importChannels(100, name: "match-1").code == 0)
        let push = try await deployment.publish("match-1", 1, .alert)
        try await eventually("the others have it") { try await deployment.ledger(push)["delivered"] == 99 }
        first.kill()
        try await deployment.silence([])
        let heir = try await deployment.worker("heir", short)
        defer { heir.kill() }
        let ended = try Ledger(try await deployment.run("push", push, "--wait", "--json").out)
        #expect(ended["delivered"] == 100 && ended["duplicates_possible"] == 1 && ended.addsUp, "\(ended.fields)")
        #expect(ended.errors["Timeout"] == 1)
    }

    @Test func `a worker that drains waits for its open requests`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one", ["LAMPLIGHTER_WORKER_REQUEST_TIMEOUT": "4s"])
        try await deployment.silence([0])
        #expect(try await deployment.importChannels(10, name: "match-1").code == 0)
        let push = try await deployment.publish("match-1", 1, .alert)
        try await eventually("the others have it") { try await deployment.ledger(push)["delivered"] == 9 }
        worker.signal(SIGTERM)
        #expect(await worker.end(within: .seconds(60))?.code == 0)
        let ledger = try await deployment.ledger(push)
        #expect(ledger["retries"] == 1 && ledger["duplicates_possible"] == 1 && ledger["pending"] == 1)
    }
}

extension Deployment {
    /// Lets the phones with these numbers have no answer; all others have theirs.
    fileprivate func silence(_ numbers: [Int]) async throws {
        let tokens = numbers.map { "\"\(Self.token($0))\"" }.joined(separator: ",")
        let answer = try await call(
            "POST", controlURL + "/simulator/faults", user: nil, body: #"{"stall_tokens":[\#(tokens)]}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Publishes an update in Airship's form, and returns its id.
    fileprivate func publish(
        _ name: String, _ score: Int, _ kind: SilentPhoneTests.Kind = .update
    ) async throws -> String {
        let fields = #""event":"update","content_state":{"score":\#(score)}"# + kind.fields
        let answer = try await call(
            "POST", "\(gatewayURL)/api/push", body: Self.push(name, #""all""#, fields, tail: kind.tail))
        #expect(answer.status == 202, "\(answer.text)")
        return (answer.json["push_ids"] as? [String])?.first ?? ""
    }
}
