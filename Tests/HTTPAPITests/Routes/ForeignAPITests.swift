import LiveActivity
import StrictJSON
import Testing

@testable import HTTPAPI

/// A feature's knowledge of another service's API. The service is the tests' own.
@Suite struct ForeignAPITests {
    /// It has moons, and calls a channel of ours a moon's.
    private static let moons = ForeignAPI(refusal: { method, components, near in
        guard components.first == "moons" || components.last == "moons" else { return nil }
        return near?.method == method ? "\(near?.pattern ?? "") has no moons." : "There are no moons."
    })

    @Test(arguments: [
        ("GET", "/moons/io", "There are no moons."),
        ("GET", "/api/channels/moons", "/api/channels/{channel} has no moons."),
        ("PATCH", "/api/channels/moons", "There are no moons."),
    ])
    func `it has words for calls that are not served`(method: String, path: String, words: String) {
        guard case .unserved(words) = RouteMatch(method: method, path: path[...], foreign: [Self.moons]) else {
            Issue.record("\(method) \(path)")
            return
        }
    }

    @Test func `all other calls are as without it`() {
        for (method, path) in [("GET", "/api/channels/io"), ("POST", "/api/push")] {
            #expect(RouteMatch(method: method, path: path[...], foreign: [Self.moons]).endpoint != nil)
        }
        for path in ["/moon", "/api/nope"] {
            guard case .notFound = RouteMatch(method: "GET", path: path[...], foreign: [Self.moons]) else {
                Issue.record("\(path)")
                return
            }
        }
    }

    @Test func `a key of its pushes has no effect, is not sent, or is refused`() throws {
        let rows = [
            ForeignKey("moon", .ignored, "it is far"), ForeignKey("tide", .granted, "there is one"),
            ForeignKey("star::", .notSent, "another sky"), ForeignKey("eclipse", .refused, "would darken all"),
        ]
        func check(_ text: String) throws -> [String] {
            var warnings: [String] = []
            let object = try JSONDocument(Array(text.utf8)).root.object()
            try ForeignKey.check(object, own: ["own"], rows, warnings: &warnings)
            return warnings
        }
        #expect(try check(#"{"own":1,"tide":1,"moon":false,"eclipse":null}"#).isEmpty)
        #expect(
            try check(#"{"moon":1,"star::vega":1}"#)
                == [
                    "moon has no effect: it is far",
                    #"["star::vega"] is not sent: Lamplighter sends Live Activities only"#,
                ])
        for (text, words) in [(#"{"eclipse":true}"#, "would darken all"), (#"{"comet":1}"#, "comet")] {
            let error = #expect(throws: JSONError.self) { try check(text) }
            #expect(error?.description.contains(words) == true, "\(text)")
        }
    }
}
