import Testing

@testable import Commands

@Suite struct StartWarningTests {
    @Test(
        arguments: [
            (true, nil, false, false, [StartWarning.root]), (false, nil, false, false, []),
            (false, "127.0.0.1", false, false, []), (false, "::1", false, false, []),
            (false, "0.0.0.0", false, false, [.withoutTLS]), (false, "0.0.0.0", true, false, []),
            (false, "10.0.0.5", false, true, []), (true, "::", false, false, [.root, .withoutTLS]),
        ] as [(Bool, String?, Bool, Bool, [StartWarning])])
    func `a process says what is risky where it runs`(
        isRoot: Bool, host: String?, hasTLS: Bool, hasProxy: Bool, warnings: [StartWarning]
    ) {
        #expect(StartWarning.all(isRoot: isRoot, host: host, hasTLS: hasTLS, hasProxy: hasProxy) == warnings)
    }

    @Test(arguments: [("127.0.0.1", false, true), ("127.0.0.1", true, false), ("10.0.0.5", false, false)])
    func `a limit by address needs the name of a proxy on this machine`(host: String, hasProxy: Bool, warns: Bool) {
        func warnings(_ judges: Bool) -> [StartWarning] {
            StartWarning.all(isRoot: false, host: host, hasTLS: true, hasProxy: hasProxy, judgesAddresses: judges)
        }
        #expect(warnings(true) == (warns ? [.unnamedProxy] : []) && warnings(false).isEmpty)
    }
}
