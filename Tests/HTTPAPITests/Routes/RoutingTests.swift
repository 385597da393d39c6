import LiveActivity
import Testing

@testable import HTTPAPI

@Suite struct RoutingTests {
    @Test(arguments: [
        ("POST", "/api/push", "/api/push"), ("POST", "/api/push/", "/api/push"),
        ("POST", "/api/push/validate", "/api/push/validate"),
        ("POST", "/api/push/validate/", "/api/push/validate"),
        ("PUT", "/api/channels/sdk/batch/abc", "/api/channels/sdk/batch/{channel}"),
        ("POST", "/api/channels/tags", "/api/channels/tags"), ("POST", "/api/channels/", "/api/channels"),
        ("PUT", "/api/channels/x", "/api/channels/{channel}"), ("GET", "/healthz", "/healthz"),
        ("HEAD", "/healthz", "/healthz"),
        ("GET", "/api/push/validate2", "/api/push/{push_id}"),
        ("DELETE", "/api/schedules/1", "/api/schedules/{schedule_id}"),
    ])
    func `finds the endpoint, with and without a slash at the end`(method: String, path: String, pattern: String) {
        guard case .found(let endpoint, _) = RouteMatch(method: method, path: path[...]) else {
            Issue.record("\(method) \(path) not found")
            return
        }
        #expect(endpoint.pattern == pattern)
        #expect(endpoint.method == (method == "HEAD" ? "GET" : method))
    }

    @Test func `decodes parameters after splitting`() {
        guard
            case .found(_, let parameters) = RouteMatch(
                method: "PUT", path: "/api/activities/a%2Fb%20%C3%A9+/channels/c%25")
        else {
            Issue.record("not found")
            return
        }
        #expect(parameters == ["name": "a/b é+", "channel": "c%"])
    }

    @Test func `a slash is one whatever stands behind it`() {
        for name in ["\u{301}x", "%CC%81x"] {
            guard
                case .found(let endpoint, let parameters) = RouteMatch(
                    method: "GET", path: "/api/activities/\(name)"[...])
            else {
                Issue.record("not found")
                continue
            }
            #expect(
                endpoint.pattern == "/api/activities/{name}"
                    && parameters["name"].map { Array($0.utf8) } == [0xCC, 0x81, 0x78])
        }
        #expect(PercentEncoding.query("after=\u{301}x&\u{301}=\u{301}")?["after"] == "\u{301}x")
    }

    @Test func `tells apart wrong paths, wrong methods and broken escapes`() {
        for path in [
            "", "/", "api/push", "//api/push", "/api//push", "/api/push//", "/api", "/api/push/a/b", "/API/push",
        ] {
            guard case .notFound = RouteMatch(method: "POST", path: path[...]) else {
                Issue.record("\(path) found")
                continue
            }
        }
        guard case .methodNotAllowed(["GET", "DELETE", "HEAD"]) = RouteMatch(method: "POST", path: "/api/push/x"),
            case .methodNotAllowed(["POST"]) = RouteMatch(method: "GET", path: "/api/push/validate")
        else {
            Issue.record("methods")
            return
        }
        for path in ["/api/activities/%", "/api/activities/%2", "/api/activities/%zz", "/api/activities/%ff"] {
            guard case .malformed = RouteMatch(method: "GET", path: path[...]) else {
                Issue.record("\(path) decoded")
                continue
            }
        }
    }

    @Test(arguments: [
        ("/api/activities/a/b", true), ("/api/activities/a/b/channels/c", true),
        ("/api/activities/a//channels/c", true),
        ("/api/start-tokens/a/b/channels/c", true), ("/api/channels/a/b", true), ("/api/activities", false),
        ("/api/named_users/a/b", true), ("/nope/a/b/c", false), ("/api/push/a/b", false),
    ])
    func `a slash that a proxy decoded is guessed`(path: String, isName: Bool) {
        switch RouteMatch(method: "PATCH", path: path[...]) {
        case .notFound(let guess): #expect(guess == isName)
        case .methodNotAllowed: #expect(!isName)
        default: Issue.record("\(path)")
        }
    }

    @Test func `query values`() {
        #expect(PercentEncoding.query("limit=5&after=a%26b+c&x&limit=9") == ["limit": "5", "after": "a&b c", "x": ""])
        #expect(PercentEncoding.query("a=%f") == nil)
        #expect(PercentEncoding.query("") == [:])
    }
}

@Suite struct CodecTests {
    @Test func `base64 as in RFC 4648`() {
        for (plain, coded) in [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"), ("\u{3ff}~~", "z79+fg=="),
        ] {
            #expect(Base64.encode(plain.utf8) == coded)
            #expect(Base64.decode(coded) == Array(plain.utf8))
            #expect(Base64.decodeURL(Base64.encodeURL(plain.utf8)) == Array(plain.utf8))
        }
        for broken in ["Zg=", "Zg", "Z", "====", "Zm 9", "Zm9v\n", "Zm9-"] { #expect(Base64.decode(broken) == nil) }
        #expect(Base64.encodeURL([0xFB, 0xFF]) == "-_8")
        #expect(Base64.decodeURL("-_8=") == nil)
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_795_284_000_123, "2026-11-21T18:00:00.123Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func `times are written and read`(milliseconds: Int64, text: String) {
        #expect(TimeText.text(milliseconds) == text)
        #expect(TimeText.parse(text) == milliseconds)
    }

    @Test func `times are read in the SDK's form`() {
        #expect(TimeText.parse("2026-11-21T18:00:00") == testNow)
        #expect(TimeText.parse("2026-11-21 18:00:00") == testNow)
        #expect(TimeText.parse("2026-11-21T18:00:00.5Z") == testNow + 500)
        #expect(TimeText.parse("2026-11-21T19:00:00.5+01:00") == testNow + 500)
        for broken in [
            "2026-02-30T00:00:00", "2026-13-01T00:00:00", "2026-11-21", "2026-11-21T25:00:00", "",
            "2026-11-21T18:00:00+1:00", "2026-11-21T18:00:00.", "2026-11-21T18:00:00Z+01:00",
        ] {
            #expect(TimeText.parse(broken) == nil, "\(broken)")
        }
    }
}
