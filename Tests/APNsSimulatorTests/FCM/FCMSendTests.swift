import Foundation
import Synchronization
import Testing

@testable import APNsSimulator

/// Tests what FCM checks, and the forms of its answers.
@Suite(.timeLimit(.minutes(5)))
struct FCMSendTests {
    @Test func `a message reaches the phone`() async throws {
        try await FCMFixture.run { fixture async throws in
            let access = try await fixture.accessToken()
            let start = try await fixture.send(access, FCMFixture.message(event: "start", second: 1_795_284_000))
            #expect(start.status == 200)
            let name = try #require(start.json?["name"] as? String)
            #expect(name.hasPrefix("projects/lamplighter-simulator/messages/0:"))
            let body = FCMFixture.message(event: "update", second: 1_795_284_001, order: 2, id: "push-2")
            #expect(try await fixture.send(access, body).status == 200)
            let report = try #require(fixture.simulator.fcmReport(FCMFixture.token(1)))
            #expect(report.accepted == 2 && report.shown == 2 && report.channel == "channel-1")
            let card = try #require(report.cards["match-42"])
            #expect(card.isActive && card.type == "match" && card.event == "update" && card.starts == 1)
            #expect(card.timestamp == 1_795_284_001 && card.contentState == #"{"n":2}"# && card.newest == 2)
            let last = try #require(report.history.last)
            #expect(last.isHigh && last.ttl == 900 && last.status == 200 && last.canonicalID == "push-2")
            #expect(last.order == 2 && last.event == "update" && last.name == "match-42")
            let newest = try #require(fixture.simulator.newestMessage())
            #expect(String(decoding: newest.body, as: UTF8.self) == body)
            let record = fixture.simulator.fcmSnapshot()
            #expect(record.accepted == 2 && record.acceptedAddresses == 1 && record.byStatus == ["200": 2])
            #expect(record.inFlight == 0)
        }
    }

    @Test func `validate_only reaches no phone`() async throws {
        try await FCMFixture.run({
            $1.faults.deadTokens = [DeadToken(prefix: FCMFixture.token(2))]
        }) { fixture async throws in
            let access = try await fixture.accessToken()
            let flag = #"{"validate_only":true,"#
            let answer = try await fixture.send(access, flag + FCMFixture.message(event: "start").dropFirst())
            #expect(answer.status == 200)
            #expect(fixture.simulator.fcmReport(FCMFixture.token(1))?.shown == 0)
            #expect(fixture.simulator.fcmSnapshot().validated == 1)
            let dead = try await fixture.send(access, flag + FCMFixture.message(FCMFixture.token(2)).dropFirst())
            #expect(dead.status == 404)
        }
    }

    static let wrong: [(body: String, field: String, words: String)] = [
        ("{", "", "Unexpected token"), ("[]", "", "Unexpected token"), ("{}", "message", "not set"),
        (#"{"message":{"token":"a"},"mesage":1}"#, "", "Unknown name \"mesage\""),
        (#"{"message":{"token":"a","dat":{}}}"#, "message", "Unknown name \"dat\" at 'message'"),
        (#"{"message":{"data":{}}}"#, "message", "Recipient"),
        (#"{"message":{"token":"a","fid":"cabcdefghijklmnopqrstu"}}"#, "message", "oneof"),
        (#"{"message":{"topic":"a"}}"#, "message.topic", "simulator"),
        (#"{"message":{"token":"a","data":{"a":"b","k":5}}}"#, "message.data[1].value", "TYPE_STRING"),
        (#"{"message":{"token":"a","data":{"k":{"a":"b"}}}}"#, "message.data[0].value", "TYPE_STRING"),
        (#"{"message":{"token":"a","data":{"from":"x"}}}"#, "message.data", "from"),
        (#"{"message":{"token":"a","data":{"message_type":"x"}}}"#, "message.data", "message_type"),
        (#"{"message":{"token":"a","data":{"google.x":"x"}}}"#, "message.data", "google.x"),
        (#"{"message":{"token":"a","data":{"gcmx":"x"}}}"#, "message.data", "gcmx"),
        (#"{"message":{"token":"a","android":{"priority":"10"}}}"#, "message.android.priority", "Priority"),
        (#"{"message":{"token":"a","android":{"ttl":900}}}"#, "message.android.ttl", "Duration"),
        (#"{"message":{"token":"a","android":{"ttl":"900"}}}"#, "message.android.ttl", "Duration"),
        (#"{"message":{"token":"a","android":{"ttl":"1e3s"}}}"#, "message.android.ttl", "Duration"),
        (#"{"message":{"token":"a","android":{"ttl":"-1s"}}}"#, "message.android.ttl", "ttl"),
        (#"{"message":{"token":"a","android":{"ttl":"2419201s"}}}"#, "message.android.ttl", "ttl"),
        (#"{"message":{"token":"a","android":{"live_update":{}}}}"#, "message.android", "Unknown name"),
        (#"{"validate_only":1,"message":{"token":"a"}}"#, "validate_only", "TYPE_BOOL"),
        (
            #"{"message":{"token":"a","data":{"k":"\#(String(repeating: "x", count: 4_096))"}}}"#, "message.data",
            "too big"
        ),
    ]

    @Test func `wrong messages`() async throws {
        try await FCMFixture.run { fixture async throws in
            let access = try await fixture.accessToken()
            for test in Self.wrong {
                let answer = try await fixture.send(access, test.body)
                #expect(answer.status == 400 && answer.errorStatus == "INVALID_ARGUMENT", "\(test.body)")
                #expect(answer.errorCode == nil && answer.fields == [test.field], "\(test.body): \(answer.text)")
                #expect(answer.message?.contains(test.words) == true, "\(test.body): \(answer.text)")
            }
            let record = fixture.simulator.fcmSnapshot()
            #expect(record.byReason == ["INVALID_PAYLOAD": Self.wrong.count] && record.addresses == 0)
        }
    }

    @Test func `right messages`() throws {
        for body in [
            #"{"message":{"token":"a:B_-1","android":{"ttl":"3.500000000s","priority":"NORMAL","collapseKey":"x"}}}"#,
            #"{"message":{"fid":"cabcdefghijklmnopqrstu","android":{"ttl":"0s"}},"validateOnly":false}"#,
            #"{"message":{"token":"a","data":{"k":"\#(String(repeating: "x", count: 4_095))"}}}"#,
            #"{"message":{"token":"a","data":{"k":"\#(String(repeating: #"\""#, count: 4_095))"}}}"#,
            #"{"message":{"token":"a","data":{"\u0041":"\ud83d\ude00"}}}"#,
        ] {
            #expect(throws: Never.self) { try FCMMessage.read(Array(body.utf8)) }
        }
        let message = try FCMMessage.read(Array(#"{"message":{"token":"a","data":{"\u0041":"x\"\n"}}}"#.utf8))
        #expect(message.data == ["A": "x\"\n"] && !message.isHigh && message.ttl == nil)
    }

    @Test func `an address of another form`() async throws {
        try await FCMFixture.run { fixture async throws in
            let access = try await fixture.accessToken()
            for target in [#""token":"a b""#, #""token":"""#, #""fid":"abc""#, #""fid":"xabcdefghijklmnopqrstu""#] {
                let answer = try await fixture.send(access, #"{"message":{\#(target)}}"#)
                #expect(answer.status == 400 && answer.errorCode == "INVALID_ARGUMENT" && answer.fields.isEmpty)
                #expect(answer.message?.contains("not a") == true, "\(answer.text)")
            }
        }
    }

    @Test func `callers that may not send`() async throws {
        try await FCMFixture.run { fixture async throws in
            let access = try await fixture.accessToken()
            let body = FCMFixture.message()
            for header in ["Bearer x", access, ""] {
                let answer = try await fixture.post(
                    fixture.sendPath, [("authorization", header), ("content-type", "application/json")], body)
                #expect(answer.status == 401 && answer.errorStatus == "UNAUTHENTICATED" && answer.isUsual)
            }
            let headers = FCMFixture.headers(access)
            let other = try await fixture.post("/v1/projects/other/messages:send", headers, body)
            #expect(other.status == 403 && other.errorStatus == "PERMISSION_DENIED" && other.errorCode == nil)
            let path = try await fixture.post("/v1/projects/lamplighter-simulator/messages", headers, body)
            #expect(path.status == 404 && path.json == nil)
            let type = try await fixture.post(fixture.sendPath, [headers[0], ("content-type", "text/plain")], body)
            #expect(type.status == 400)

            var faults = Faults()
            faults.expireNext = 1
            try fixture.simulator.setFCMFaults(faults)
            #expect(try await fixture.send(access, body).status == 401)
            #expect(try await fixture.send(access, body).status == 200)
            faults.expireIssuedBefore = Int(Date().timeIntervalSince1970) + 1_000
            try fixture.simulator.setFCMFaults(faults)
            #expect(try await fixture.send(access, body).status == 401)
        }
    }

    @Test func `an access token expires`() async throws {
        try await FCMFixture.run { fixture async throws in
            let access = try await fixture.accessToken()
            let tokens = try #require(fixture.simulator.fcm?.judge.withLock { $0.tokens })
            let now = Int(Date().timeIntervalSince1970 * 1_000)
            #expect(tokens.isValid(access, now: now, issuedFrom: nil))
            #expect(!tokens.isValid(access, now: now + 3_600_000, issuedFrom: nil))
        }
    }

    // MARK: The forms of answers

    static let forms: [(reason: String, status: Int, errorStatus: String?, code: String?)] = [
        ("UNREGISTERED", 404, "NOT_FOUND", "UNREGISTERED"),
        ("UNREGISTERED_AS_INVALID_ARGUMENT", 400, "INVALID_ARGUMENT", "UNREGISTERED"),
        ("NOT_FOUND", 404, "NOT_FOUND", nil), ("INVALID_TOKEN", 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
        ("SENDER_ID_MISMATCH", 403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
        ("INVALID_ARGUMENT", 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
        ("INVALID_PAYLOAD", 400, "INVALID_ARGUMENT", nil),
        ("PERMISSION_DENIED", 403, "PERMISSION_DENIED", nil), ("UNAUTHENTICATED", 401, "UNAUTHENTICATED", nil),
        ("THIRD_PARTY_AUTH_ERROR", 401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
        ("QUOTA_EXCEEDED", 429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), ("INTERNAL", 500, "INTERNAL", "INTERNAL"),
        ("UNAVAILABLE", 503, "UNAVAILABLE", "UNAVAILABLE"), ("NOT_JSON", 503, nil, nil), ("EMPTY_BODY", 500, nil, nil),
    ]

    @Test func `each form`() async throws {
        try await FCMFixture.run { fixture async throws in
            let access = try await fixture.accessToken()
            for form in Self.forms {
                var faults = Faults()
                faults.refusedTokens = [RefusedToken(prefix: FCMFixture.token(1), reason: form.reason)]
                faults.retryAfter = 7
                try fixture.simulator.setFCMFaults(faults)
                let answer = try await fixture.send(access, FCMFixture.message())
                #expect(answer.status == form.status && answer.errorStatus == form.errorStatus, "\(form)")
                let isPayload = form.reason == "INVALID_PAYLOAD"
                #expect(answer.errorCode == form.code, "\(form): \(answer.text)")
                #expect(answer.fields == (isPayload ? ["message.data"] : []), "\(form): \(answer.text)")
                #expect(answer.isUsual == (form.errorStatus != nil), "\(form): \(answer.text)")
                #expect((answer.json == nil) == (form.reason == "NOT_JSON"))
                #expect(answer.retryAfter == (form.status == 429 || form.status == 503 ? "7" : nil))
                faults.refusedTokens = []
                faults.rejectAll = form.reason
                try fixture.simulator.setFCMFaults(faults)
                #expect(try await fixture.send(access, FCMFixture.message(FCMFixture.token(2))).text == answer.text)
            }
        }
    }

    @Test func `dead addresses`() async throws {
        try await FCMFixture.run({
            $0.seed = 42
            $1.faults.deadShare = 0.3
        }) { fixture async throws in
            let access = try await fixture.accessToken()
            let tokens = (0..<60).map(FCMFixture.token)
            let statuses = try await fixture.sendAll(access, tokens.map { FCMFixture.message($0) })
            for (token, status) in zip(tokens, statuses) {
                let isDead = APNsSimulator.isDead(address: token, share: 0.3, seed: 42)
                #expect(status == (isDead ? 404 : 200))
                #expect(fixture.simulator.fcmReport(token)?.deadAnswers == (isDead ? 1 : 0))
            }
            #expect((8...30).contains(statuses.count { $0 == 404 }))
            // A dead installation id has a form of its own.
            var faults = Faults()
            faults.deadTokens = [DeadToken(prefix: "cabc")]
            try fixture.simulator.setFCMFaults(faults)
            let answer = try await fixture.send(access, FCMFixture.message("cabcdefghijklmnopqrstu", kind: "fid"))
            #expect(answer.status == 404 && answer.errorStatus == "NOT_FOUND" && answer.errorCode == nil)
            #expect(fixture.simulator.fcmReport("cabcdefghijklmnopqrstu")?.kind == "fid")
        }
    }

    /// Rejections count against the quota, and answers 429 do not.
    @Test func `the quota of a minute`() async throws {
        try await FCMFixture.run({ $1.quotaPerMinute = 3 }) { fixture async throws in
            let access = try await fixture.accessToken()
            #expect(try await fixture.send(access, FCMFixture.message()).status == 200)
            #expect(try await fixture.send(access, #"{"message":{}}"#).status == 400)
            #expect(try await fixture.send(access, FCMFixture.message()).status == 200)
            for _ in 0..<2 {
                let answer = try await fixture.send(access, FCMFixture.message())
                #expect(answer.status == 429 && answer.errorCode == "QUOTA_EXCEEDED")
                #expect((1...60).contains(Int(answer.retryAfter ?? "") ?? 0))
            }
        }
        var quota = MinuteQuota(limit: 2)
        #expect(
            [0, 1, 2, 59_999, 60_000, 60_001, 60_002].map { quota.take(now: $0) }
                == [true, true, false, false, true, true, false])
        #expect(quota.secondsLeft(now: 60_002) == 60 && quota.secondsLeft(now: 119_999) == 1)
    }
}
