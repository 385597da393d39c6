import Glibc
import LiveActivity
import Synchronization

/// Output for a person or a pipe: results to stdout, everything else to stderr.
enum Terminal {
    private struct Output {
        /// The first error of a write to stdout. Nothing is written after it.
        var failure: Int32?
        /// The change that the command has made.
        var change: String?
        /// Columns of the terminal at stdout; nil: stdout is a pipe or a file.
        var width: Int?
    }

    private static let output = Mutex(Output())

    static var standardErrorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    static var standardInputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Whether a person types the input and sees the output. `id=$(lamplighter …)` in a script writes to a pipe.
    static var isForPerson: Bool { standardInputIsTerminal && isatty(STDOUT_FILENO) == 1 }

    /// The most columns of a table; nil: whole tables, because no person reads them.
    static var width: Int? { output.withLock { $0.width } }

    /// Columns and rows of the terminal at stdout; 80 and 24 if it does not tell.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// False once the reader of a pipe is gone, or a write to stdout has failed. A command that prints without an end
    /// stops then.
    static var isRead: Bool {
        if output.withLock({ $0.failure }) != nil { return false }
        var state = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&state, 1, 0) <= 0 || Int32(state.revents) & (POLLERR | POLLHUP | POLLNVAL) == 0
    }

    /// Notes what the command has changed, for the error if stdout does not take the result.
    static func note(change: String) { output.withLock { $0.change = change } }

    /// The failure of a command whose result stdout did not take. Nil for a closed pipe too (`| head`), because its
    /// reader wants no more.
    static var lostOutput: CommandFailure? {
        let output = output.withLock { $0 }
        guard let failure = output.failure, failure != EPIPE else { return nil }
        let lines = ["cannot write to stdout: \(String(cString: strerror(failure)))", output.change]
        return CommandFailure(.failed, lines.compactMap(\.self).joined(separator: "\n"))
    }

    /// Ignores the signals of a failed write, so that the write itself tells its error. A file or a socket that the
    /// process opens gets the number of a stdout that is closed, and must get no results. The runtime may have opened
    /// one already: an epoll or an event descriptor, which have no type of file.
    static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        if isatty(STDOUT_FILENO) == 1 { output.withLock { $0.width = size.columns } }
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        var state = stat()
        if fstat(STDOUT_FILENO, &state) != 0 || state.st_mode & S_IFMT == 0 {
            output.withLock { $0.failure = EBADF }
        }
    }

    /// Asks a person. Only a yes is a yes. A person who keeps stderr in a file must still see the question.
    static func confirm(_ question: String) -> Bool {
        put("\(question.visible) [y/N] ", to: standardErrorIsTerminal ? STDERR_FILENO : STDOUT_FILENO)
        return ["y", "yes"].contains(readLine()?.lowercased())
    }

    static func error(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        put("lamplighter: " + lines.joined(separator: "\n             ").visible + "\n", to: STDERR_FILENO)
    }

    /// Writes to stdout or stderr. `lostOutput` tells an error of stdout.
    static func put(_ text: String, to descriptor: Int32) {
        guard descriptor == STDOUT_FILENO else {
            write(text, to: descriptor)
            return
        }
        output.withLock { output in
            if output.failure == nil { output.failure = write(text, to: descriptor) }
        }
    }

    /// - Returns: the error; nil: all is written
    @discardableResult private static func write(_ text: String, to descriptor: Int32) -> Int32? {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            bytes = bytes.dropFirst(max(0, written))
            if written >= 0 || errno == EINTR { continue }
            guard errno == EAGAIN else { return errno }
            // Another program made the terminal or the pipe that it shares with this one non-blocking.
            var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&state, 1, -1)
        }
        return nil
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
