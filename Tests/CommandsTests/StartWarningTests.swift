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

    @Test(
        arguments: [
            (nil, false, []), ("127.0.0.1", false, []), ("::1", false, []), ("0.0.0.0", false, [.openMonitor]),
            ("10.0.0.5", false, [.openMonitor]), ("0.0.0.0", true, []),
        ] as [(String?, Bool, [StartWarning])])
    func `a process says that other machines read its metrics without a secret`(
        monitor: String?, hasSecret: Bool, warnings: [StartWarning]
    ) {
        let all = StartWarning.all(
            isRoot: false, host: nil, hasTLS: false, hasProxy: false, monitor: monitor, hasSecret: hasSecret)
        #expect(all == warnings)
    }
}
