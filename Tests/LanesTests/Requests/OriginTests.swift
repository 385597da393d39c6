import Testing

@testable import Lanes

@Suite struct OriginTests {
    @Test(arguments: [
        ("https://api.push.apple.com", "api.push.apple.com", 443, "api.push.apple.com"),
        ("https://api.push.apple.com:443", "api.push.apple.com", 443, "api.push.apple.com"),
        ("https://api.push.apple.com:2197", "api.push.apple.com", 2197, "api.push.apple.com:2197"),
        ("https://127.0.0.1:8443", "127.0.0.1", 8443, "127.0.0.1:8443"),
        ("https://[::1]:8443", "::1", 8443, "[::1]:8443"), ("https://[::1]", "::1", 443, "[::1]"),
    ])
    func `an origin is taken apart`(_ text: String, _ host: String, _ port: Int, _ authority: String) throws {
        let origin = try #require(Origin(text))
        #expect(origin.host == host)
        #expect(Int(origin.port) == port)
        #expect(origin.authority == authority)
    }
}
