import Testing

@testable import Redis

@Suite struct ErrorCodeTests {
    @Test(arguments: [
        ("ERR The user executing the script can't run this command or subcommand script: x", "NOPERM"),
        ("NOPERM this user has no permissions to run the 'set' command", "NOPERM"),
        ("OOM command not allowed when used memory > 'maxmemory'.", "OOM"), ("ERR unknown command", "UNSUPPORTED"),
        ("ERR syntax error", "ERR"),
    ])
    func `an error reply counts by what it means`(text: String, code: String) {
        var builder = ReplyBuilder()
        builder.begin(replies: 1)
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { builder.addText(.error, $0, at: 0) }
        #expect(builder.finish().errorCodes == [code])
    }
}
