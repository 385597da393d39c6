import Foundation
import Synchronization

/// All events with their times, one per line, in `events.log` of the run's directory.
final class EventLog: Sendable {
    private let file: Mutex<FileHandle>
    private let latest = Mutex("")
    let clock: Clock

    init(path: String, clock: Clock) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw ChaosFailure("cannot write \(path)") }
        file = Mutex(handle)
        self.clock = clock
    }

    /// The last disturbance, for the progress line.
    var now: String { latest.withLock { $0 } }

    func note(_ text: String) {
        let line = Clock.stamp(clock.now) + "  " + text + "\n"
        file.withLock { handle in try? handle.write(contentsOf: Data(line.utf8)) }
    }

    func announce(_ text: String) {
        latest.withLock { $0 = text }
        note(text)
    }
}
