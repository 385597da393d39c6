import Foundation
import TestSupport
import Testing

/// Tests each form of an update and an end, from a publisher's request to the bytes that APNs receives for a token and
/// for the name's broadcast channel.
@Suite("Every form of a push")
struct FormStoryTests {
    struct Form {
        /// Fields of the request besides name and event.
        var request: String
        /// The same fields in the payload, after the event.
        var payload: String
        var event = "update"
        var priority = 10
        /// `options` of the push.
        var expiry: Int?
    }

    private static let state = #"{"home": 2,"clock":"67:12","odds":1.50}"#
    private static let alert =
        #"{"title":{"loc-key":"GOAL","loc-args":["Ada"]},"body":{"loc-key":"SCORE"},"sound":"goal.aiff"}"#
    private static let hour = Int(Date().timeIntervalSince1970) + 3_600

    static let forms = [
        Form(request: #""content_state":\#(state)"#, payload: #","content-state":\#(state)"#),
        Form(
            request: #""content_state":\#(state),"stale_date":\#(hour),"relevance_score":75.0,"priority":5"#,
            payload: #","content-state":\#(state),"stale-date":\#(hour),"relevance-score":75.0"#, priority: 5,
            expiry: 0),
        // A state that is stale since yesterday goes out all the same. Devices show it as stale.
        Form(
            request: #""content_state":\#(state),"stale_date":\#(hour - 25 * 3_600)"#,
            payload: #","content-state":\#(state),"stale-date":\#(hour - 25 * 3_600)"#),
        Form(
            request: #""alert":\#(alert),"content_state":\#(state)"#,
            payload: #","content-state":\#(state),"alert":\#(alert)"#, expiry: hour),
        Form(
            request: #""dismissal_date":\#(hour),"content_state":\#(state),"alert":{"title":"Over"}"#,
            payload: #","content-state":\#(state),"dismissal-date":\#(hour),"alert":{"title":"Over"}"#, event: "end"),
    ]

    @Test(arguments: ["none", "newest"])
    func `state, dates, scores, alerts and expiry: payload and headers as Apple has them`(storage: String) async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        try await deployment.follow(1, "")
        let made = try await deployment.broadcast("PUT", "match-1", #"{"storage":"\#(storage)"}"#)
        let channel = try #require(made.channel, "\(made.text)")
        for form in Self.forms {
            let options = form.expiry.map { #","options":{"expiry":\#($0)}"# } ?? ""
            let answer = try await deployment.post(
                "match-1", #""all""#, #""event":"\#(form.event)",\#(form.request)"#, tail: options)
            let ledger = try #require(answer.ledger, "\(answer.text)")
            #expect(ledger["delivered"] == 1 && ledger.broadcast["state"] as? String == "delivered", "\(ledger.fields)")

            let (device, broadcast) = (try await deployment.newest("device"), try await deployment.newest("broadcast"))
            for request in [device, broadcast] {
                #expect(
                    request.body
                        == #"{"aps":{"timestamp":\#(request.timestamp),"event":"\#(form.event)"\#(form.payload)}}"#)
            }
            #expect(device.body == broadcast.body)
            // Without an expiry APNs decides for a token. A channel that keeps the newest message gets
            // Apple's longest expiry.
            let kept = storage == "none" ? 0 : form.expiry ?? broadcast.timestamp + 8 * 3_600
            #expect(
                device.fields == (form.expiry.map { ["apns-expiration: \($0)"] } ?? []) + [
                    "apns-priority: \(form.priority)", "apns-push-type: liveactivity",
                    "apns-topic: com.example.shop.push-type.liveactivity",
                ])
            #expect(
                broadcast.fields == [
                    "apns-channel-id: \(channel)", "apns-expiration: \(kept)", "apns-priority: \(form.priority)",
                    "apns-push-type: liveactivity", "apns-request-id: \(ledger.fields["push_id"] as? String ?? "")",
                ])
        }
    }
}
