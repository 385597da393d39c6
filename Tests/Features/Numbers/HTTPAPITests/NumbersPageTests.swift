import Testing

@testable import HTTPAPI

/// Numbers over time.
@Suite struct NumbersPageTests {
    @Test func `numbers add up by day and by hour, of all names and of one`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            for name in ["match-42", "match-42", "match-7"] {
                _ = try await gateway.publish(CredentialTests.update(name))
            }
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            for by in ["day", "hour"] {
                let all = try await browser.get("/console/numbers?by=\(by)").text
                #expect(all.contains("3 pushes</title>") && all.contains("<svg"), "\(all)")
                let one = try await browser.get("/console/numbers?by=\(by)&name=match-7").text
                #expect(one.contains("1 push</title>") && one.contains("/console/names/match-7"), "\(one)")
                #expect(all.contains("Names with the most deliveries") && !one.contains("Names with the most"))
                #expect(all.contains(#"class="unknown""#), "the time before the first count is hatched")
                let link = try #require(all.firstMatch(of: /href="(\/console\/pushes\?[^"]*)"/)).1
                let pushes = try await browser.get(String(link).replacing("&amp;", with: "&")).text
                #expect(pushes.contains("match-42") && pushes.contains("match-7"), "\(link)")
            }
            let file = try await browser.get("/console/numbers?as=csv").text
            let lines = file.split(separator: "\r\n")
            #expect(lines.count == 2 && lines[0].hasPrefix("at,pushes,targets,delivered,"), "\(file)")
            #expect(lines[1].contains("T00:00:00.000Z,3,"), "\(file)")
            let past = try await browser.get("/console/numbers?from=2026-01-01&to=2026-01-07").text
            #expect(past.contains("No push was accepted in this time."), "\(past)")
            #expect(try await browser.get("/console/numbers?name=none").text.contains("No push was accepted"))
        }
    }
}

extension ConsolePrefixTests {
    @Test func `numbers are of the own names alone`() async throws {
        try await run { world in
            for by in ["day", "hour"] {
                let page = try await world.browser.get("/console/numbers?by=\(by)").text
                #expect(page.contains("2 pushes</title>") && !page.contains(Self.foreign), "\(page)")
            }
        }
    }
}
