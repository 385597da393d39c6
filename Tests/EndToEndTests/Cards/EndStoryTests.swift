import Foundation
import TestSupport
import Testing

/// Tests an `end` in each form that Apple allows, from the publisher's request to the simulator's record.
@Suite("How an activity ends")
struct EndStoryTests {
    struct Form {
        var state: Bool
        /// Seconds from now.
        var dismissal: Int?
        var alert: Bool
    }

    static let forms = [false, true].flatMap { state in
        [nil, -3_600, 7_200].flatMap { dismissal in
            [false, true].map { Form(state: state, dismissal: dismissal, alert: $0) }
        }
    }

    @Test func `with and without a state, a dismissal date and an alert: each as it was published, and the last`()
        async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let now = Int(Date().timeIntervalSince1970)
        let alert = #"{"title":"Over","body":{"loc-key":"FINAL","loc-args":["2","1"]},"sound":"whistle.aiff"}"#
        let state = #"{"score":"2:1","clock":90.50}"#
        var bodies: [String] = []
        for (number, form) in Self.forms.enumerated() {
            let path = "\(deployment.gatewayURL)/api/activities/end-\(number)/channels/\(Deployment.channel(number))"
            let tracked = try await deployment.call(
                "PUT", path, body: #"{"token":"\#(Deployment.token(number))"}"#)
            #expect(tracked.status == 200)
            var fields = [#""name":"end-\#(number)","event":"end""#]
            if form.state { fields.append(#""content_state":\#(state)"#) }
            if let dismissal = form.dismissal { fields.append(#""dismissal_date":\#(now + dismissal)"#) }
            if form.alert { fields.append(#""alert":\#(alert)"#) }
            bodies.append(
                #"{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":{"#
                    + fields.joined(separator: ",") + "}}}}")
        }
        let published = try await deployment.call(
            "POST", "\(deployment.gatewayURL)/api/push", body: "[\(bodies.joined(separator: ","))]")
        let pushes = published.json["push_ids"] as? [String] ?? []
        try #require(published.status == 202 && pushes.count == Self.forms.count, "\(published.text)")
        for (number, form) in Self.forms.enumerated() {
            try await eventually("end \(number) is over") {
                try await deployment.ledger(pushes[number]).state == "done"
            }
            #expect(try await deployment.ledger(pushes[number])["delivered"] == 1)
            let text = try await deployment.call(
                "GET", "\(deployment.controlURL)/simulator/tokens/\(Deployment.token(number))", user: nil)
            let shown = text.json
            #expect(shown["accepted"] as? Int == 1 && shown["event"] as? String == "end", "\(text.text)")
            #expect(shown["ignored_by_device"] as? Int == 0 && shown["after_end"] as? Int == 0)
            #expect(
                text.text.contains(#""content_state":\#(state)"#) == form.state
                    && (shown["content_state"] != nil) == form.state)
            #expect(shown["dismissal_date"] as? Int == form.dismissal.map { now + $0 })
            #expect(text.text.contains(#""alert":\#(alert)"#) == form.alert && (shown["alert"] != nil) == form.alert)
            let after = try await deployment.call(
                "POST", "\(deployment.gatewayURL)/api/push",
                body: bodies[number].replacing(#""event":"end""#, with: #""event":"update""#)
                    .replacing(#""name":"#, with: (form.state ? "" : #""content_state":{},"#) + #""name":"#))
            #expect(after.status == 409 && after.text.contains("is closed by an end"), "\(after.text)")
        }
        #expect(try await deployment.record()["accepted"] as? Int == Self.forms.count)
    }
}
