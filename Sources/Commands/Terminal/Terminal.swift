import Glibc
import LiveActivity

/// Output for a person or a pipe: results to stdout, everything else to stderr.
enum Terminal {
    static var standardErrorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    static var standardInputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Columns and rows of the terminal at stdout; 80 and 24 if it does not tell.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// False once the reader of a pipe is gone.
    static func isRead(_ descriptor: Int32) -> Bool {
        var state = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&state, 1, 0) <= 0 || Int32(state.revents) & (POLLERR | POLLHUP | POLLNVAL) == 0
    }

    /// Asks a person on stderr. Only a yes is a yes.
    static func confirm(_ question: String) -> Bool {
        put("\(question) [y/N] ", to: STDERR_FILENO)
        return ["y", "yes"].contains(readLine()?.lowercased())
    }

    static func error(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        put("lamplighter: " + lines.joined(separator: "\n             ").visible + "\n", to: STDERR_FILENO)
    }

    static func put(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            // A closed pipe (`| head`) is not an error of this program.
            guard written > 0 else { return }
            bytes = bytes.dropFirst(written)
        }
    }

    /// Names come from devices. None of them may turn a line round, or look like another one.
    static func print(_ line: String) { put(line.visible + "\n", to: STDOUT_FILENO) }

    /// Prints a gateway's JSON response as received, with one newline at its end.
    static func print(json body: [UInt8]) {
        let end = body.lastIndex { $0 != UInt8(ascii: "\n") }
        put(String(decoding: end.map { body[...$0] } ?? [], as: UTF8.self) + "\n", to: STDOUT_FILENO)
    }

    /// Writes `1234567` as `1,234,567`.
    static func grouped(_ number: Int) -> String {
        var digits = String(number.magnitude)
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits = String(digits.dropLast(3))
        }
        return (number < 0 ? "-" : "") + ([digits[...]] + groups).joined(separator: ",")
    }

    /// Writes `1 line` or `2,000 lines`.
    static func counted(_ number: Int, _ thing: String, _ things: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? thing : things ?? thing + "s")"
    }

    /// Counts by reason, the largest first.
    static func ranked(_ counts: [String: Int]) -> [(key: String, value: Int)] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    }
}
