import LiveActivity
import Redis
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

extension ChangingCall {
    /// Rows of `Endpoint.all` that take a body, and change nothing.
    static let unchanging: Set<String> = ["POST /api/push/validate"]

    static let all: [ChangingCall] =
        pushes + schedules + channels + users + names + operations
        + ofFeatures.joined()

    private static func key(_ number: Int) -> [(String, String)] { [("Idempotency-Key", "key \(number)")] }

    private static func push(
        _ variant: String, _ text: @escaping @Sendable (_ name: String) -> String, names: Int = 1
    ) -> ChangingCall {
        ChangingCall("POST /api/push", variant) { fixture, number in
            PreparedCall(path: "/api/push", body: text("n\(number)"), headers: key(number), parts: names) {
                var count = 0
                for name in ["n\(number)", "n\(number)-2"].prefix(names) { count += try await fixture.pushes(name) }
                return count
            }
        }
    }

    private static let pushes: [ChangingCall] = [
        push("an update", { AnswersFixture.push($0) }),
        push(
            "a start",
            {
                AnswersFixture.push(
                    $0, event: "start",
                    more: #","alert":{"title":"t"},"attributes_type":"T","attributes":{}"#)
            }),
        push("an end", { AnswersFixture.push($0, event: "end") }),
        push("a traced one", { AnswersFixture.push($0, tail: #","options":{"trace":"c"}"#) }),
        push("several", { "[\(AnswersFixture.push($0)),\(AnswersFixture.push($0 + "-2"))]" }, names: 2),
        ChangingCall("DELETE /api/push/{push_id}") { fixture, number in
            let reply = try await fixture.send("POST", "/api/push", AnswersFixture.push("n\(number)"))
            let id = try #require(PushID(try reply.strings("push_ids")[0]))
            return PreparedCall(path: "/api/push/\(id)") {
                (try await fixture.store.pushes.ledger(fixture.app, id)?.state == .cancelled).part
            }
        },
    ]

    private static let schedules: [ChangingCall] = [
        ChangingCall("POST /api/schedules") { fixture, number in
            let (one, two) = ("n\(number)", "n\(number)-2")
            let body = "[\(AnswersFixture.schedule(one, at: 19)),\(AnswersFixture.schedule(two, at: 19))]"
            return PreparedCall(path: "/api/schedules", body: body, headers: key(number), parts: 2) {
                try await fixture.store.schedules.list(fixture.app, start: nil, limit: 1_000).schedules
                    .count { [one, two].contains($0.publish.name.rawValue) }
            }
        },
        ChangingCall("PUT /api/schedules/{schedule_id}") { fixture, number in
            let created = try await fixture.send(
                "POST", "/api/schedules", AnswersFixture.schedule("n\(number)", at: 19))
            let id = try created.strings("schedule_ids")[0]
            return PreparedCall(
                path: "/api/schedules/\(id)", body: AnswersFixture.schedule("n\(number)", at: 20)
            ) { (try await fixture.schedule(id)?.due == testNow + 7_200_000).part }
        },
        ChangingCall("DELETE /api/schedules/{schedule_id}") { fixture, number in
            let created = try await fixture.send(
                "POST", "/api/schedules", AnswersFixture.schedule("n\(number)", at: 19))
            let id = try created.strings("schedule_ids")[0]
            return PreparedCall(path: "/api/schedules/\(id)") {
                (try await fixture.schedule(id)?.state == .cancelled).part
            }
        },
    ]

    private static let channels: [ChangingCall] = [
        ChangingCall("POST /api/channels", isRepeatable: false) { fixture, number in
            PreparedCall(
                path: "/api/channels",
                body: #"{"channel":{"device_type":"ios","set_tags":true,"tags":["t\#(number)"]}}"#
            ) {
                let members = fixture.store.keys.members(try fixture.app, .tag("t\(number)", group: "device"))
                return try await fixture.store.redis.run("SCARD", members).integer()
            }
        },
        ChangingCall("PUT /api/channels/{channel}") { fixture, number in
            PreparedCall(
                path: "/api/channels/c\(number)",
                body: #"{"channel":{"device_type":"ios","set_tags":true,"tags":["t"]}}"#
            ) { (try await fixture.record("c\(number)")?.tags["device"] == ["t"]).part }
        },
        ChangingCall("POST /api/channels/tags") { fixture, number in
            PreparedCall(
                path: "/api/channels/tags",
                body: #"{"audience":{"ios_channel":["c\#(number)","d\#(number)"]},"add":{"g":["t"]}}"#, parts: 2
            ) { try await fixture.tags("c\(number)").count + fixture.tags("d\(number)").count }
        },
        ChangingCall("POST /api/channels/uninstall") { fixture, number in
            try await fixture.send("PUT", "/api/channels/c\(number)", #"{"channel":{"device_type":"ios"}}"#)
            try await fixture.send("PUT", "/api/activities/n/channels/c\(number)", #"{"token":"aa"}"#)
            return PreparedCall(path: "/api/channels/uninstall", body: #"{"channel_id":"c\#(number)"}"#) {
                try await fixture.isForgotten("c\(number)").part
            }
        },
        ChangingCall("POST /api/channels/bulk") { fixture, number in
            PreparedCall(
                path: "/api/channels/bulk",
                body: #"{"channel":"c\#(number)","add":{"g":["t"]},"named_user_id":"u\#(number)"}"#, parts: 2
            ) {
                let record = try await fixture.record("c\(number)")
                return (record?.tags["g"] == ["t"]).part + (record?.namedUser == "u\(number)").part
            }
        },
        ChangingCall("PUT /api/channels/sdk/batch/{channel}") { fixture, number in
            let update =
                #"{"action":"set","type":"update_token","id":"A","name":"n\#(number)","token":"aa","action_ts_ms":1795284000000}"#
            let start =
                #"{"action":"set","type":"start_token","attributes_type":"T\#(number)","token":"aa","action_ts_ms":1795284000000}"#
            return PreparedCall(
                path: "/api/channels/sdk/batch/c\(number)",
                body: #"{"tags":{"add":{"g":["t"]}},"live_activities":[\#(update),\#(start)]}"#, parts: 3
            ) {
                try await fixture.tags("c\(number)").count + fixture.followers("n\(number)")
                    + fixture.startTokens("T\(number)")
            }
        },
        ChangingCall("POST /api/receipts") { fixture, number in
            let reply = try await fixture.send("POST", "/api/push", AnswersFixture.push("n\(number)"))
            let id = try #require(PushID(try reply.strings("push_ids")[0]))
            let body = #"{"receipts":[{"push_id":"\#(id)","event":"shown","channel_id":"c"}]}"#
            return PreparedCall(path: "/api/receipts", body: body) {
                try await fixture.store.pushes.ledger(fixture.app, id)?.receipts[.shown] ?? 0
            }
        },
    ]

    private static func named(_ fixture: AnswersFixture, _ number: Int) async throws {
        try await fixture.send(
            "POST", "/api/named_users/associate",
            #"{"channel_id":"c\#(number)","device_type":"ios","named_user_id":"u\#(number)"}"#)
    }

    private static let users: [ChangingCall] = [
        ChangingCall("POST /api/named_users/associate") { fixture, number in
            PreparedCall(
                path: "/api/named_users/associate",
                body: #"{"channel_id":"c\#(number)","device_type":"ios","named_user_id":"u\#(number)"}"#
            ) { (try await fixture.record("c\(number)")?.namedUser == "u\(number)").part }
        },
        ChangingCall("POST /api/named_users/disassociate") { fixture, number in
            try await named(fixture, number)
            return PreparedCall(
                path: "/api/named_users/disassociate", body: #"{"channel_id":"c\#(number)","device_type":"ios"}"#
            ) { (try await fixture.record("c\(number)")?.namedUser == nil).part }
        },
        ChangingCall("POST /api/named_users/tags") { fixture, number in
            try await named(fixture, number)
            return PreparedCall(
                path: "/api/named_users/tags",
                body: #"{"audience":{"named_user_id":"u\#(number)"},"add":{"g":["t"]}}"#
            ) { try await fixture.tags("c\(number)").count }
        },
        ChangingCall("POST /api/named_users/uninstall") { fixture, number in
            try await named(fixture, number)
            return PreparedCall(
                path: "/api/named_users/uninstall", body: #"{"named_user_id":"u\#(number)"}"#
            ) { try await fixture.isForgotten("c\(number)").part }
        },
        ChangingCall("POST /api/named_users/{user}") { fixture, number in
            PreparedCall(
                path: "/api/named_users/u\(number)",
                body:
                    #"{"associate":[{"channel_id":"c\#(number)","device_type":"ios"}],"tags":{"add":{"g":["t"]}}}"#,
                parts: 2
            ) {
                let record = try await fixture.record("c\(number)")
                return (record?.tags["g"] == ["t"]).part + (record?.namedUser == "u\(number)").part
            }
        },
    ]

    /// The calls of a name's followers, or of the start tokens of a type.
    private static func places(
        _ path: String, _ pattern: String, _ count: @escaping @Sendable (AnswersFixture, Int) async throws -> Int
    ) -> [ChangingCall] {
        let token = #"{"token":"aabb"}"#
        return [
            ChangingCall("POST /api/\(path)/{\(pattern)}/channels") { fixture, number in
                PreparedCall(
                    path: "/api/\(path)/n\(number)/channels",
                    body: #"{"channel":"a","token":"aa"}"# + "\n" + #"{"channel":"b","token":"bb"}"#, parts: 2
                ) { try await count(fixture, number) }
            },
            ChangingCall("DELETE /api/\(path)/{\(pattern)}/channels") { fixture, number in
                try await fixture.send("PUT", "/api/\(path)/n\(number)/channels/c", token)
                return PreparedCall(path: "/api/\(path)/n\(number)/channels") {
                    try await 1 - count(fixture, number)
                }
            },
            ChangingCall("PUT /api/\(path)/{\(pattern)}/channels/{channel}") { fixture, number in
                PreparedCall(path: "/api/\(path)/n\(number)/channels/c", body: token) {
                    try await count(fixture, number)
                }
            },
            ChangingCall("DELETE /api/\(path)/{\(pattern)}/channels/{channel}") { fixture, number in
                try await fixture.send("PUT", "/api/\(path)/n\(number)/channels/c", token)
                return PreparedCall(path: "/api/\(path)/n\(number)/channels/c") {
                    try await 1 - count(fixture, number)
                }
            },
        ]
    }

    private static let names: [ChangingCall] =
        places("activities", "name") { try await $0.followers("n\($1)") }
        + places("start-tokens", "attributes_type") { try await $0.startTokens("n\($1)") }
        + [
            ChangingCall("PUT /api/activities/{name}") { fixture, number in
                PreparedCall(path: "/api/activities/n\(number)", body: #"{"attributes_type":"T"}"#) {
                    (try await fixture.store.schemas.types(fixture.app, [ActivityName("n\(number)")]) == ["T"]).part
                }
            },
            ChangingCall("PUT /api/activities/{name}/broadcast") { fixture, number in
                PreparedCall(path: "/api/activities/n\(number)/broadcast?wait=0", body: "{}") {
                    let name = try ActivityName("n\(number)")
                    return (try await fixture.store.broadcasts.channel(fixture.app, name)?.state == .wanted).part
                }
            },
            ChangingCall("DELETE /api/activities/{name}/broadcast", repeated: [404]) { fixture, number in
                let name = try ActivityName("n\(number)")
                try await fixture.send("PUT", "/api/activities/n\(number)/broadcast?wait=0", "{}")
                return PreparedCall(path: "/api/activities/n\(number)/broadcast?wait=0") {
                    let state = try await fixture.store.broadcasts.channel(fixture.app, name)?.state
                    return (state == nil || state == .deleting).part
                }
            },
        ]

    private static let operations: [ChangingCall] = [
        ChangingCall("POST /api/dead/{push_id}/retry", repeated: [404]) { fixture, number in
            let id = try await fixture.deadLetter("n\(number)")
            return PreparedCall(path: "/api/dead/\(id)/retry") {
                (try await fixture.store.deadLetters.letter(fixture.app, id) == nil).part
            }
        },
        ChangingCall("DELETE /api/dead/{push_id}", repeated: [404]) { fixture, number in
            let id = try await fixture.deadLetter("n\(number)")
            return PreparedCall(path: "/api/dead/\(id)") {
                (try await fixture.store.deadLetters.letter(fixture.app, id) == nil).part
            }
        },
        ChangingCall("POST /api/pause") { fixture, number in
            PreparedCall(path: "/api/pause", body: #"{"name":"n\#(number)"}"#) {
                (try await fixture.store.pauses.since(fixture.app, ActivityName("n\(number)")) != nil).part
            }
        },
        ChangingCall("POST /api/resume", repeated: [404]) { fixture, number in
            try await fixture.send("POST", "/api/pause", #"{"name":"n\#(number)"}"#)
            return PreparedCall(path: "/api/resume", body: #"{"name":"n\#(number)"}"#) {
                (try await fixture.store.pauses.since(fixture.app, ActivityName("n\(number)")) == nil).part
            }
        },
        ChangingCall("POST /api/quarantine/release") { fixture, number in
            try await fixture.quarantine("n\(number)")
            return PreparedCall(path: "/api/quarantine/release", body: #"{"name":"n\#(number)"}"#) {
                (try await fixture.isQuarantined("n\(number)") == false).part
            }
        },
        ChangingCall("POST /api/quarantine/discard") { fixture, number in
            try await fixture.quarantine("n\(number)")
            return PreparedCall(path: "/api/quarantine/discard", body: #"{"name":"n\#(number)"}"#, parts: 2) {
                (try await fixture.isQuarantined("n\(number)") == false).part
                    + (try await fixture.followers("n\(number)") == 0).part
            }
        },
        // A secret is shown once. A caller that has not got it takes another one by a rotation.
        ChangingCall("POST /api/credentials", repeated: [409]) { fixture, number in
            PreparedCall(path: "/api/credentials", body: #"{"id":"k\#(number)","scopes":["read"]}"#) {
                (try await fixture.credential("k\(number)") != nil).part
            }
        },
        ChangingCall("POST /api/credentials/{credential}/rotate") { fixture, number in
            try await fixture.send("POST", "/api/credentials", #"{"id":"k\#(number)","scopes":["read"]}"#)
            let old = try #require(try await fixture.credential("k\(number)")?.secrets.first)
            return PreparedCall(path: "/api/credentials/k\(number)/rotate") {
                (try await fixture.credential("k\(number)")?.secrets.first != old).part
            }
        },
        ChangingCall("DELETE /api/credentials/{credential}", repeated: [404]) { fixture, number in
            try await fixture.send("POST", "/api/credentials", #"{"id":"k\#(number)","scopes":["read"]}"#)
            return PreparedCall(path: "/api/credentials/k\(number)") {
                (try await fixture.credential("k\(number)") == nil).part
            }
        },
        ChangingCall("PUT /api/schemas/{attributes_type}") { fixture, number in
            PreparedCall(path: "/api/schemas/T\(number)", body: #"{"content_state":true}"#) {
                (try await fixture.store.schemas.document(fixture.app, type: "T\(number)") != nil).part
            }
        },
        ChangingCall("DELETE /api/schemas/{attributes_type}", repeated: [404]) { fixture, number in
            try await fixture.send("PUT", "/api/schemas/T\(number)", #"{"content_state":true}"#)
            return PreparedCall(path: "/api/schemas/T\(number)") {
                (try await fixture.store.schemas.document(fixture.app, type: "T\(number)") == nil).part
            }
        },
    ]
}
