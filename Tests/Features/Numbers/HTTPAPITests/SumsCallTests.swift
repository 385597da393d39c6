import Answers
import LiveActivity
import StrictJSON
import Testing

@testable import HTTPAPI

/// `GET /api/sums`.
@Suite struct SumsCallTests {
    @Test func `pushes are added up by day, by hour and by name`() async throws {
        try await GatewayFixture.run { gateway in
            for name in ["b", "a", "b"] { _ = try await gateway.publish(CredentialTests.update(name)) }
            let newest = try await gateway.send("GET", "/api/pushes?limit=1").object.required("pushes").array()[0]
            let time = try newest.object().required("created_at").string()
            for (by, begin) in [("day", "\(time.prefix(10))T00:00:00.000Z"), ("hour", "\(time.prefix(13)):00:00.000Z")]
            {
                let reply = try await gateway.send("GET", "/api/sums?by=\(by)")
                let rows = try reply.object.required("sums").array()
                #expect(
                    rows.count == 1 && reply.text.contains(#""at":"\#(begin)","pushes":3,"targets":0"#), "\(reply.text)"
                )
            }
            let names = try await gateway.send("GET", "/api/sums?by=name").text
            #expect(
                names.contains(#"{"name":"a","pushes":1,"#) && names.contains(#"{"name":"b","pushes":2,"#), "\(names)")
            // The columns of a CSV file are all members of a row.
            let row = try await gateway.send("GET", "/api/sums").object.required("sums").array()[0].object()
            #expect(row.members.map(\.key).allSatisfy(SumAnswer.columns.contains), "\(row.members.map(\.key))")
            let one = try await gateway.send("GET", "/api/sums?name=b&event=update").text
            #expect(one.contains(#""pushes":2"#), "\(one)")
            #expect(try await gateway.send("GET", "/api/sums?event=start,end").text.contains(#""sums":[]"#))
            #expect(
                try await gateway.send("GET", "/api/sums?to=\(time.prefix(10))T00:00:00").text.contains(#""sums":[]"#))
        }
    }

    @Test(arguments: [
        ("by=week", "day, hour or name"), ("event=update,stop", "start, update, end"), ("from=soon", "must be a time"),
        ("from=2026-11-21T00:00:00&to=2026-11-20T00:00:00", "before to"), ("name=", "must be"),
        ("by=name&from=2020-01-01T00:00:00", "31 days"),
    ])
    func `a query that cannot be answered is refused`(query: String, word: String) async throws {
        try await GatewayFixture.run { gateway in
            let reply = try await gateway.send("GET", "/api/sums?\(query)")
            #expect(reply.status == 400 && reply.text.contains(word), "\(reply.text)")
        }
    }
}

extension ConsolePrefixTests {
    @Test func `sums are of the own names alone`() async throws {
        try await run { world in
            for by in ["day", "hour", "name"] {
                let sums = try await world.api("/api/sums?by=\(by)").text
                #expect(sums.contains(#""pushes":2"#) && !sums.contains(Self.foreign), "\(sums)")
            }
            #expect(try await world.api("/api/sums?name=\(Self.foreign)").status == 403)
        }
    }
}
