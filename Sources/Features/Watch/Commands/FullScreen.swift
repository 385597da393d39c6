import Dispatch
import Glibc
import Synchronization

/// The terminal's alternate screen in raw mode. It draws pages in place and reports keys and signals. `restore` brings
/// the terminal's old state back.
final class FullScreen: Sendable {
    enum Event: Sendable, Equatable { case quit, resized, key(Character) }

    private static let signals = [
        (SIGINT, Event.quit), (SIGTERM, .quit), (SIGHUP, .quit), (SIGWINCH, .resized),
    ]

    let events: AsyncStream<Event>
    private let saved: termios
    /// Made once and only cancelled afterwards, which libdispatch allows on any thread: no lock is needed.
    private nonisolated(unsafe) let keys: any DispatchSourceRead
    private let isRestored = Atomic(false)

    /// Takes over the terminal. Nil unless stdin and stdout are a terminal.
    init?() {
        var attributes = termios()
        guard isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &attributes) == 0 else { return nil }
        saved = attributes
        // Signals of keys are off, because a stopped process would leave the terminal as it is. Ctrl-C comes as a byte.
        attributes.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &attributes) == 0 else { return nil }
        let (stream, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(16))
        events = stream
        let keys = DispatchSource.makeReadSource(
            fileDescriptor: STDIN_FILENO, queue: DispatchQueue(label: "terminal"))
        keys.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            // q, Q, Ctrl-C, Ctrl-D, or the terminal is gone.
            if count <= 0 || bytes[..<count].contains(where: { [0x71, 0x51, 0x03, 0x04].contains($0) }) {
                continuation.yield(.quit)
            } else if bytes[0] != 0x1B {
                // An arrow or another key of several bytes begins with an escape.
                for byte in bytes[..<count] { continuation.yield(.key(Character(UnicodeScalar(byte)))) }
            }
        }
        for (number, event) in Self.signals { Signals.listen(to: number) { continuation.yield(event) } }
        self.keys = keys
        keys.activate()
        Terminal.put("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J", to: STDOUT_FILENO)
    }

    var size: (columns: Int, rows: Int) { Terminal.size }

    /// Draws a page over the last one, in a single write, so that nothing flickers.
    func draw(_ lines: [String]) {
        let text = lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n")
        Terminal.put("\u{1B}[H" + text + "\u{1B}[J", to: STDOUT_FILENO)
    }

    /// Shows the cursor and the former screen again. May be called repeatedly.
    func restore() {
        guard !isRestored.exchange(true, ordering: .relaxed) else { return }
        keys.cancel()
        for (number, _) in Self.signals { Signals.ignore(number) }
        Terminal.put("\u{1B}[?25h\u{1B}[?1049l", to: STDOUT_FILENO)
        var attributes = saved
        tcsetattr(STDIN_FILENO, TCSANOW, &attributes)
    }
}
