import Foundation
import Testing

@testable import APNsSimulator

/// Tests the phone's rules, as values and with messages that come out of order.
@Suite(.timeLimit(.minutes(5)))
struct AndroidPhoneTests {
    private static func data(
        _ event: String, _ second: Int, order: Int? = nil, id: String? = nil, type: String? = "match",
        others: [String: String] = [:]
    ) -> [String: String] {
        let typeField = type.map { #","type":"\#($0)""# } ?? ""
        let state = order.map { #","content_state":{"n":\#($0)}"# } ?? ""
        let text = #"{"name":"m","event":"\#(event)","timestamp":\#(second)\#(typeField)\#(state)}"#
        let data = [AndroidPhone.canonicalPushID: id ?? UUID().uuidString, AndroidPhone.liveUpdate: text]
        return data.merging(others) { $1 }
    }

    private static func take(_ phone: inout AndroidPhone, _ data: [String: String]) -> AndroidPhone.Outcome {
        let update = data[AndroidPhone.liveUpdate].map { text in
            Result { () throws(LiveUpdate.Fault) in try LiveUpdate(text, orderMember: "n") }
        }
        return phone.receive(data, update, seconds: 1_000)
    }

    @Test func `the life of a card`() throws {
        var phone = AndroidPhone()
        let steps: [(event: String, second: Int, order: Int, outcome: AndroidPhone.Outcome)] = [
            ("update", 90, 1, .ignored("update of a card that was not started")),
            ("end", 90, 1, .ignored("end of a card that was not started")),
            ("start", 100, 2, .shown(backwards: false)),
            ("start", 99, 1, .older),
            ("start", 101, 3, .ignored("start of a card that is active")),
            ("update", 110, 10, .shown(backwards: false)),
            ("update", 109, 9, .older),
            // Of two updates with one second, the one that came last stays.
            ("update", 110, 8, .shown(backwards: true)),
            ("end", 99, 11, .older),
            // An end is compared with the start only.
            ("end", 105, 5, .shown(backwards: true)),
            ("update", 120, 12, .ignored("update of a card that was not started")),
            ("start", 104, 13, .older),
            ("start", 130, 14, .shown(backwards: false)),
        ]
        for step in steps {
            let outcome = Self.take(&phone, Self.data(step.event, step.second, order: step.order))
            #expect(outcome == step.outcome, "\(step)")
        }
        let card = try #require(phone.cards["m"])
        #expect(card.isActive && card.starts == 2 && card.backwards == 2 && card.newest == 14)
        #expect(card.shown?.timestamp == 130 && card.contentState == #"{"n":14}"#)
        // Another type ends the card and starts again.
        #expect(Self.take(&phone, Self.data("start", 131, order: 15, type: "race")) == .shown(backwards: false))
        #expect(phone.cards["m"]?.starts == 3 && phone.cards["m"]?.type == "race")
        // An end without a state leaves the state as it was.
        #expect(Self.take(&phone, Self.data("end", 132)) == .shown(backwards: false))
        #expect(phone.cards["m"]?.contentState == #"{"n":15}"# && phone.cards["m"]?.shown?.event == .end)
    }

    @Test func `a canonical id is taken once among ten`() {
        var phone = AndroidPhone()
        // The id of an ignored message is kept too.
        _ = Self.take(&phone, Self.data("update", 1, order: 1, id: "a"))
        _ = Self.take(&phone, Self.data("start", 2, order: 1, id: "b"))
        #expect(Self.take(&phone, Self.data("update", 3, order: 2, id: "a")) == .duplicate)
        for number in 0..<9 { _ = Self.take(&phone, Self.data("update", 4, order: 2, id: "\(number)")) }
        #expect(Self.take(&phone, Self.data("update", 4, order: 2, id: "a")) == .shown(backwards: false))
    }

    @Test func `messages that a phone ignores`() {
        func ignored(_ data: [String: String]) -> String? {
            var phone = AndroidPhone()
            let start = Self.data("start", 1, order: 1, others: [AndroidPhone.channelID: "one"])
            #expect(Self.take(&phone, start) == .shown(backwards: false))
            guard case .ignored(let why) = Self.take(&phone, data) else { return nil }
            return why
        }
        let good = Self.data("update", 2, order: 1)
        #expect(ignored(good) == nil)
        #expect(ignored(good.merging([AndroidPhone.channelID: "one"]) { $1 }) == nil)
        #expect(ignored(good.merging([AndroidPhone.channelID: "two"]) { $1 }) == "the channel is another one")
        #expect(ignored(good.filter { $0.key != AndroidPhone.canonicalPushID }) == "not a message of Airship")
        #expect(ignored(good.merging([AndroidPhone.expiration: "999"]) { $1 }) == "expired")
        #expect(ignored(good.merging([AndroidPhone.expiration: "1001"]) { $1 }) == nil)
        #expect(ignored(good.filter { $0.key != AndroidPhone.liveUpdate }) == "no live update")
        let texts: [(text: String, why: String?)] = [
            ("[]", "live_update is not a JSON object"), (#"{"event":"update","timestamp":2}"#, "name is missing"),
            (#"{"name":"m","event":"x","timestamp":2}"#, "event is not start, update or end"),
            (#"{"name":"m","event":"update"}"#, "timestamp is missing or not a number"),
            (#"{"name":"m","event":"start","timestamp":2,"content_state":{}}"#, "type is missing in a start"),
            (#"{"name":"m","event":"update","timestamp":2}"#, "content_state is missing or not an object"),
            (
                #"{"name":"m","event":"end","timestamp":2,"content_state":5}"#,
                "content_state is missing or not an object"
            ),
            (#"{"name":"m","event":"end","timestamp":2,"dismissal_date":"x"}"#, "dismissal_date is not a number"),
            (#"{"name":"m","event":"update","timestamp":2,"content_state":"{\"n\":7}"}"#, nil),
        ]
        for (text, why) in texts { #expect(ignored(good.merging([AndroidPhone.liveUpdate: text]) { $1 }) == why) }
    }

    /// FCM promises no order. The newest content wins if the seconds of a name strictly rise.
    @Test func `updates out of order end on the newest`() async throws {
        try await FCMFixture.run({
            $1.faults.reorderShare = 0.05
            // Longer than an answer takes, also on a busy machine.
            $1.faults.reorderDelay = 3_000
            $0.seed = 7
        }) { fixture async throws in
            let access = try await fixture.accessToken()
            #expect(try await fixture.send(access, FCMFixture.message(event: "start", second: 1_000)).status == 200)
            let connection = try await fixture.open()
            for number in 0..<50 {
                let body = FCMFixture.message(second: 1_001 + number, order: 2 + number)
                try await connection.send(
                    RawConnection.request(
                        number, path: fixture.sendPath, payload: body, headers: FCMFixture.headers(access)))
                #expect(try await connection.answer(stream: number).status == 200)
            }
            try await fixture.wait { $0.pending == 0 }
            let report = try #require(fixture.simulator.fcmReport(FCMFixture.token(1)))
            let card = try #require(report.cards["match-42"])
            #expect(card.newest == 51 && card.backwards == 0 && card.contentState == #"{"n":51}"#)
            #expect(report.accepted == 51 && report.shown + report.droppedByDevice == 51)
            #expect(report.droppedByDevice > 0, "no message was late, so the test shows nothing")
            await connection.close()
        }
    }
}
