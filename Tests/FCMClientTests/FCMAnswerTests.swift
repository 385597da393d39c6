import Delivery
import Testing

@testable import FCMClient

/// An answer of FCM has a meaning for its token, its push and its app.
@Suite struct FCMAnswerTests {
    private static func error(
        _ code: Int, _ status: String, _ errorCode: String? = nil, message: String = "m", fields: [String] = []
    ) -> String {
        var details: [String] = []
        if let errorCode {
            details.append(
                #"{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "\#(errorCode)"}"#)
        }
        if !fields.isEmpty {
            let list = fields.map { #"{"field": "\#($0)", "description": "d"}"# }.joined(separator: ", ")
            details.append(#"{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [\#(list)]}"#)
        }
        let rest = details.isEmpty ? "" : #", "details": [\#(details.joined(separator: ", "))]"#
        return #"{ "error": { "code": \#(code), "message": "\#(message)", "status": "\#(status)"\#(rest) } }"#
    }

    private static let badToken = "The registration token is not a valid FCM registration token"

    struct Row: Sendable {
        var status: Int
        var body: String
        var reason: String
        var verdict: Verdict
        init(_ status: Int, _ body: String, _ reason: String, _ verdict: Verdict) {
            (self.status, self.body, self.reason, self.verdict) = (status, body, reason, verdict)
        }
    }

    static let rows = [
        // The token.
        Row(404, error(404, "NOT_FOUND", "UNREGISTERED"), "UNREGISTERED", .pruneIfOlder),
        Row(404, error(404, "NOT_FOUND"), "NOT_FOUND", .pruneToken),
        Row(403, error(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"), "SENDER_ID_MISMATCH", .pruneToken),
        Row(
            400, error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", message: badToken), "INVALID_REGISTRATION",
            .pruneToken),
        Row(
            400, error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", fields: ["message.token"]), "INVALID_REGISTRATION",
            .pruneToken),
        // The error code counts more than the status.
        Row(400, error(400, "INVALID_ARGUMENT", "UNREGISTERED"), "UNREGISTERED", .pruneIfOlder),
        // The message.
        Row(400, error(400, "INVALID_ARGUMENT", fields: ["message.data[0].value"]), "INVALID_ARGUMENT", .stopPush),
        Row(
            400, error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", message: badToken, fields: ["message.android.ttl"]),
            "INVALID_ARGUMENT", .stopPush),
        Row(
            400, error(400, "INVALID_ARGUMENT", fields: ["message.token", "message.data"]), "INVALID_ARGUMENT",
            .stopPush),
        // Neither: a failure of FCM once answered so for good tokens.
        Row(400, error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"), "INVALID_ARGUMENT", .failToken),
        Row(400, error(400, "INVALID_ARGUMENT", message: badToken), "INVALID_ARGUMENT", .failToken),
        Row(400, error(400, "FAILED_PRECONDITION"), "FAILED_PRECONDITION", .failToken),
        // The credentials.
        Row(401, error(401, "UNAUTHENTICATED"), "UNAUTHENTICATED", .renewCredential),
        Row(401, error(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"), "THIRD_PARTY_AUTH_ERROR", .renewCredential),
        Row(401, "", "HTTP401", .renewCredential),
        Row(403, error(403, "PERMISSION_DENIED"), "PERMISSION_DENIED", .haltApp),
        Row(403, "<html>", "HTTP403", .retry),
        // The project's pace.
        Row(429, error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), "QUOTA_EXCEEDED", .pauseApp),
        Row(429, error(429, "RESOURCE_EXHAUSTED"), "RESOURCE_EXHAUSTED", .pauseApp),
        Row(429, "slow down", "HTTP429", .pauseApp),
        // Trouble of FCM, or of something between.
        Row(503, error(503, "UNAVAILABLE", "UNAVAILABLE"), "UNAVAILABLE", .retry),
        Row(500, error(500, "INTERNAL", "INTERNAL"), "INTERNAL", .retry),
        Row(500, "{}", "HTTP500", .retry), Row(400, "{}", "HTTP400", .retry),
        Row(502, "not json", "HTTP502", .retry), Row(404, "<!DOCTYPE html>", "HTTP404", .retry),
        Row(400, #"["error", {"status": "UNREGISTERED"}]"#, "HTTP400", .retry),
    ]

    @Test(arguments: rows.indices)
    func `each answer has one reason and one verdict`(_ index: Int) {
        let row = Self.rows[index]
        let rejection = Rejection(fcm: row.status, FCMErrorBody(Array(row.body.utf8)), retryAfter: nil)
        #expect(rejection.reason == row.reason && rejection.verdict == row.verdict, "\(row.body)")
        #expect(rejection.status == row.status && rejection.timestamp == nil && !rejection.mayLiveElsewhere)
        let pause = [Verdict.pauseApp: 60, .retry: 10][row.verdict]
        #expect(rejection.retryAfter == pause)
        #expect(Rejection(fcm: row.status, FCMErrorBody(Array(row.body.utf8)), retryAfter: 7).retryAfter == 7)
    }

    @Test func `an answer that is cut says what it has said`() {
        let long = Self.error(
            400, "INVALID_ARGUMENT", "INVALID_ARGUMENT",
            fields: ["message.data[0].value"] + Array(repeating: "message.android", count: 99))
        let cut = Array(long.utf8.prefix(1_024))
        #expect(Rejection(fcm: 400, FCMErrorBody(cut), retryAfter: nil).verdict == .stopPush)
        for count in 0..<long.utf8.count {
            let rejection = Rejection(fcm: 400, FCMErrorBody(Array(long.utf8.prefix(count))), retryAfter: nil)
            #expect([.stopPush, .failToken, .retry].contains(rejection.verdict), "nothing is pruned by half an answer")
        }
    }

    @Test func `words inside the message are not read as the answer's own`() {
        let quoted = #"Invalid value \"errorCode\": \"UNREGISTERED\", \"status\": \"NOT_FOUND\""#
        let body = FCMErrorBody(Array(Self.error(503, "UNAVAILABLE", message: quoted).utf8))
        #expect(Rejection(fcm: 503, body, retryAfter: nil).reason == "UNAVAILABLE")
        let odd = FCMErrorBody(Array(#"{"error":{"status":"a b\n","details":[]}}"#.utf8))
        #expect(Rejection(fcm: 500, odd, retryAfter: nil).reason == "HTTP500", "logs show words alone")
    }
}
