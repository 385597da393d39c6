import Foundation

/// A terminal of a given width in which a test runs a program, as a person would.
public enum PseudoTerminal {
    public struct NoTerminal: Error {}

    /// TIOCSPTLCK and TIOCGPTN of <asm-generic/ioctls.h>. Swift does not import glibc's functions for them.
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    /// Runs a program to its end with the terminal as its input, its output and its errors.
    /// - Parameters:
    ///   - typed: the lines that the person has typed by the time the program asks
    ///   - saved: where stdout goes instead, such as the file of a `>`
    /// - Returns: the text on the screen; typed lines are echoed on it
    public static func run(
        _ arguments: [String], environment: [String: String], typed: String = "", columns: UInt16 = 80,
        saved: Int32? = nil
    ) async throws -> ChildProcess.Output {
        let screen = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (number, lock): (Int32, Int32) = (0, 0)
        guard screen >= 0, ioctl(screen, setLock, &lock) == 0, ioctl(screen, getNumber, &number) == 0 else {
            throw NoTerminal()
        }
        let terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { throw NoTerminal() }
        var size = winsize(ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
        // The terminal keeps the lines until the program reads them.
        _ = write(screen, typed, typed.utf8.count)
        let child = try ChildProcess(
            arguments, environment: environment, input: terminal, output: saved ?? terminal, errors: terminal)
        // The screen ends once no process has the terminal any more.
        close(terminal)
        let (texts, continuation) = AsyncStream<[UInt8]>.makeStream()
        Thread.detachNewThread {
            var bytes: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(screen, &part, part.count)
                if count > 0 { bytes += part[..<count] } else if count == 0 || errno != EINTR { break }
            }
            close(screen)
            continuation.yield(bytes)
            continuation.finish()
        }
        var bytes: [UInt8] = []
        for await text in texts { bytes = text }
        await child.wait()
        guard let code = child.code else { throw CancellationError() }
        let text = String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "\n")
        return ChildProcess.Output(code: code, out: text)
    }
}
