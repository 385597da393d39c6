import Foundation
import Synchronization

/// Shows the progress: one line that changes on a terminal, and one line per phase elsewhere.
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

    /// Removes the line, so that something else can be printed.
    func clear() { if isTerminal { write("\r\u{1b}[K") } }

    private func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}
