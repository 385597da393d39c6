import Testing

@testable import Settings

extension ReloadTests {
    @Test func `a new app has its intake after a restart`() throws {
        let head = "gateway: {intake: true}\n"
        let gateway = try change(.gateway, head + "apps:\n  - key: a\n", head + "apps:\n  - key: a\n  - key: c\n")
        #expect(gateway.applied == ["apps: c is new"])
        #expect(gateway.needsRestart == ["c: gateway.intake"])
    }
}
