import Foundation
import Synchronization

/// One line on a terminal that tells how far the run is; elsewhere a line for each phase.
final class Progress: Sendable {
    private let isTerminal = isatty(2) == 1
    private let last = Mutex("")

    func phase(_ text: String) {
        let isNew = last.withLock { last in
            defer { last = text }
            return last.prefix { !$0.isNumber } != text.prefix { !$0.isNumber }
        }
        if isTerminal {
            write("\r\u{1b}[K" + text)
        } else if isNew {
            write("chaos: " + text + "\n")
        }
    }

    /// The line gives way to what is printed next.
    func clear() { if isTerminal { write("\r\u{1b}[K") } }

    private func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}
