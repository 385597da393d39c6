import Testing

@testable import Commands

@Suite struct StartWarningTests {
    private typealias Place = StartWarning.Place

    @Test(
        arguments: [
            (Place(isRoot: true), [.root]), (Place(), []), (Place(host: "127.0.0.1"), []), (Place(host: "::1"), []),
            (Place(host: "0.0.0.0"), [.withoutTLS]), (Place(host: "0.0.0.0", hasTLS: true), []),
            (Place(host: "10.0.0.5", hasTrustedProxy: true), []),
            (Place(isRoot: true, host: "::"), [.root, .withoutTLS]),
            (Place(host: "127.0.0.1", judgesAddresses: true), [.unnamedProxy]),
            (Place(host: "127.0.0.1", hasTrustedProxy: true, judgesAddresses: true), []),
            (Place(host: "10.0.0.5", hasTLS: true, judgesAddresses: true), []),
            (Place(host: "127.0.0.1", hasCommonPort: true), [.unreachablePort]),
            (Place(host: "0.0.0.0", hasTLS: true, hasCommonPort: true), []), (Place(hasCommonPort: true), []),
            (Place(trustsAnyRedis: true), [.uncheckedRedis]),
            (Place(monitor: "127.0.0.1"), []), (Place(monitor: "::1"), []), (Place(monitor: "0.0.0.0"), [.openMonitor]),
            (Place(monitor: "0.0.0.0", hasMonitorSecret: true), []),
            (Place(proxyVariables: ["https_proxy"]), [.unusedProxy(["https_proxy"])]),
            (Place(host: "127.0.0.1", proxyVariables: ["https_proxy"]), []),
        ] as [(StartWarning.Place, [StartWarning])])
    func `a process says what is risky where it runs`(place: StartWarning.Place, warnings: [StartWarning]) {
        #expect(StartWarning.all(place) == warnings)
    }

    @Test func `a proxy's variables are named without their values`() {
        let environment = [
            "https_proxy": "", "HTTPS_PROXY": "http://user:hunter2@proxy:3128", "ALL_PROXY": "x", "PATH": "y",
        ]
        let found = StartWarning.proxyVariables(environment)
        #expect(found == ["HTTPS_PROXY", "ALL_PROXY"])
        #expect(!StartWarning.unusedProxy(found).problem.contains("hunter2"))
    }
}
