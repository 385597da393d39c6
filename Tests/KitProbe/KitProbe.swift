import Foundation
import LamplighterKit

/// An app that a test kills. It reports start tokens, and prints the number of each when it is on disk.
///
///     KitProbe DIRECTORY GATEWAY TOKEN FIRST COUNT TYPES
///
/// Report `n` is the token `n`, as eight bytes, of the type `n % TYPES`. It waits until all are sent if there is a
/// gateway.
@main
struct KitProbe {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 7, let first = Int(arguments[4]), let count = Int(arguments[5]),
            let types = Int(arguments[6])
        else { exit(64) }
        let gateway = arguments[2] == "-" ? "http://127.0.0.1:1" : arguments[2]
        // A write that a limit stops is as far as a kill at that byte lets it come.
        let environment = ProcessInfo.processInfo.environment
        let dies = environment["KIT_PROBE_DIES"] != nil
        let lamplighter = Lamplighter(
            url: URL(string: gateway)!, appKey: "shop", directory: URL(fileURLWithPath: arguments[1]),
            owner: environment["KIT_PROBE_OWNER"] ?? "app",
            onProblem: { problem in if dies, problem.kind == .storage { kill(getpid(), SIGKILL) } }
        ) { _ in .token(arguments[3]) }
        for number in first..<first + count {
            let token = withUnsafeBytes(of: UInt64(number).bigEndian) { Data($0) }
            await lamplighter.outbox.start("Type\(number % types)", token: token)
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
        }
        if arguments[2] != "-" { await lamplighter.outbox.sent() }
    }
}
