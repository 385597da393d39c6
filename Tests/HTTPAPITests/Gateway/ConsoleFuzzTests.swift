import Foundation
import LiveActivity
import StrictJSON
import Testing

@testable import Console
@testable import HTTPAPI

/// Sends numbers at the edges of their types in each field of each form of the console, and in its paths and queries.
/// An overflow ends the process, so a test that fails here ends the whole run.
@Suite struct ConsoleFuzzTests {
    /// The fields that a form's handler reads, and the values of the others meanwhile.
    struct Form {
        var fields: [String]
        var bases: [[(String, String)]] = [[]]
    }

    private static let numbers = [
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "9007199254740993", "153722867280912",
        "1e308", "-1", "99999999999999999999999999999999", "NaN", "253402300799", "9999-12-31T23:59",
    ]

    /// All numbers in all fields take minutes, so a run tries every fourth pair: bin/test chooses them by the commit.
    /// bin/nightly tries all.
    private static let triesAll = ProcessInfo.processInfo.environment["LAMPLIGHTER_TEST_FLOODS"] == "1"
    private static let seed = ProcessInfo.processInfo.environment["LAMPLIGHTER_TEST_SEED"].flatMap(Int.init) ?? 0
    private static let mostAtOnce = 16
    private static func isTried(_ place: Int, _ number: Int) -> Bool { triesAll || (place + number) % 4 == seed % 4 }

    private static let publish: [(String, String)] = [
        ("name", "fuzz"), ("event", "end"), ("state", #"{"progress":0.5}"#), ("stale_minutes", "1"),
        ("dismissal_minutes", "1"), ("alert_title", "a"), ("action", "publish"), ("audience_value", "1"),
    ]
    private static let compose = Form(
        fields: ComposeForm.fields + [
            "at", "action", "state_before", "filled", "of", "template_title", "key", "f:progress", "asks", "mine",
            "room",
        ] + Basis.fields + ComposeFeature.ofFeatures.map(\.button),
        // Minutes count from `at`, or from the time to send at, which has the browser's zone.
        bases: [publish, publish + [("send_at", "2026-12-24T18:00"), ("zone", "-60")]])
    private static let question = Form(fields: ["to", "confirmed"], bases: [[("confirmed", "yes")], []])

    private static let bulk = Form(
        fields: ["do", "entry", "every", "name", "from", "to", "confirmed"],
        bases: [[("do", "drop"), ("every", "yes")], [("do", "drop"), ("confirmed", "yes")]])

    private static let forms: [String: Form] = [
        "/console/pause": question, "/console/sign-out": Form(fields: ["to"]), "/console/compose": compose,
        "/console/compose/check": compose, "/console/compose/publish": compose,
        "/console/templates/drop": Form(fields: ["template_title", "confirmed"]),
        "/console/pushes/{push}": Form(
            fields: ["do", "confirmed"],
            bases: ["cancel", "retry", "drop", "unschedule", "undo", "now", "mine"].map {
                [("do", $0), ("confirmed", "yes")]
            }),
        "/console/names/{name}": Form(
            fields: ["to", "confirmed"], bases: [[("to", "pause"), ("confirmed", "yes")], [("to", "delete")]]),
        "/console/devices/{device}/forget": question,
        "/console/schedules": bulk, "/console/dead": bulk,
        "/console/alarms": Form(fields: ["kind", "to"]),
        "/console/credentials": Form(
            fields: ["id", "name_prefix", "expires_in"], bases: [[("id", "1"), ("scope_read", "yes")]]),
        "/console/credentials/{credential}/rotate": Form(
            fields: ["keep", "confirmed"], bases: [[("confirmed", "yes")]]),
        "/console/credentials/{credential}/revoke": question,
        "/console/schemas": Form(fields: ["attributes_type", "document"], bases: [[("attributes_type", "T")]]),
        "/console/schemas/{type}": Form(fields: ["document"]), "/console/schemas/{type}/delete": question,
        "/console/quarantine": Form(
            fields: ["key", "place", "to", "confirmed"] + bulk.fields,
            bases: [[("confirmed", "yes")], [("do", "release"), ("confirmed", "yes")]]),
    ].merging(ofFeatures) { own, _ in own }

    @Test func `a number at the edge of its type in any field of any form ends no gateway`() async throws {
        let posts = Route.all.filter { $0.method == "POST" }
        #expect(Set(posts.map(\.pattern)) == Set(Self.forms.keys), "each form of the console has a row here")
        try await GatewayFixture.run { gateway in
            try await gateway.follow("fuzz")
            for route in posts {
                var signed = ConsoleBrowser(gateway)
                _ = try await signed.signIn()
                let (browser, token) = (signed, try await signed.formToken())
                let form = try #require(Self.forms[route.pattern])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (place, field) in form.fields.enumerated() {
                        // A gateway refuses more requests of one console at once.
                        if place >= Self.mostAtOnce { try await group.next() }
                        group.addTask {
                            for (turn, base) in form.bases.enumerated() {
                                for (index, number) in Self.numbers.enumerated()
                                where Self.isTried(place + turn, index) {
                                    let fields = base.filter { $0.0 != field } + [("csrf", token), (field, number)]
                                    let reply = try await browser.post(Self.path(route.pattern, "1"), fields)
                                    #expect(reply.status < 500, "\(route.pattern) \(field)=\(number): \(reply.status)")
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(try await gateway.send("GET", "/healthz").status == 200)
        }
    }

    @Test func `a number at the edge of its type in a path or a query of the console ends no gateway`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("fuzz")
            var signed = ConsoleBrowser(gateway)
            _ = try await signed.signIn()
            let browser = signed
            let words = ["after", "limit", "name", "push", "state", "user", "show", "contains", "id", "q"]
            for route in Route.all where route.method == "GET" && !route.pattern.hasSuffix("live") {
                for (index, number) in Self.numbers.enumerated() {
                    let path = Self.path(route.pattern, number)
                    let query = words.map { "\($0)=\(number)" }.joined(separator: "&")
                    let targets = [path, "\(path)?\(query)"] + words.map({ "\(path)?\($0)=\(number)" })
                    for (place, target) in targets.enumerated() where Self.isTried(place, index) {
                        let reply = try await browser.get(target)
                        #expect(reply.status < 500, "\(target): \(reply.status)")
                    }
                }
            }
        }
    }

    private static func path(_ pattern: String, _ part: String) -> String {
        pattern.split(separator: "/").map { $0.hasPrefix("{") ? part : String($0) }.reduce("") { "\($0)/\($1)" }
    }
}
