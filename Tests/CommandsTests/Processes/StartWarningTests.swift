import Testing

@testable import Commands

@Suite struct StartWarningTests {
    private typealias Surroundings = StartWarning.Surroundings

    @Test(
        arguments: [
            (Surroundings(isRoot: true), [.root]), (Surroundings(), []), (Surroundings(host: "127.0.0.1"), []),
            (Surroundings(host: "::1"), []),
            (Surroundings(host: "0.0.0.0"), [.withoutTLS]), (Surroundings(host: "0.0.0.0", hasTLS: true), []),
            (Surroundings(host: "10.0.0.5", hasTrustedProxy: true), []),
            (Surroundings(isRoot: true, host: "::"), [.root, .withoutTLS]),
            (Surroundings(host: "127.0.0.1", judgesAddresses: true), [.unnamedProxy]),
            (Surroundings(host: "127.0.0.1", hasTrustedProxy: true, judgesAddresses: true), []),
            (Surroundings(host: "10.0.0.5", hasTLS: true, judgesAddresses: true), []),
            (Surroundings(host: "127.0.0.1", hasCommonPort: true), [.unreachablePort]),
            (Surroundings(host: "0.0.0.0", hasTLS: true, hasCommonPort: true), []),
            (Surroundings(hasCommonPort: true), []),
            (Surroundings(trustsAnyRedis: true), [.uncheckedRedis]),
            (Surroundings(monitor: "127.0.0.1"), []), (Surroundings(monitor: "::1"), []),
            (Surroundings(monitor: "0.0.0.0"), [.openMonitor]),
            (Surroundings(monitor: "0.0.0.0", hasMonitorSecret: true), []),
            (Surroundings(proxyVariables: ["https_proxy"]), [.unusedProxy(["https_proxy"])]),
            (Surroundings(host: "127.0.0.1", proxyVariables: ["https_proxy"]), []),
        ] as [(StartWarning.Surroundings, [StartWarning])])
    func `a process says what is risky where it runs`(place: StartWarning.Surroundings, warnings: [StartWarning]) {
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
