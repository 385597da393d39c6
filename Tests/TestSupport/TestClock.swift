import Foundation
import Synchronization

/// The time of day of programs that a test starts: this machine's, and a shift that the test sets while they run, as an
/// operator or a time service sets a clock. A small library is loaded before theirs. The clocks that nobody sets (boot,
/// monotonic) stay as they are. libfaketime cannot do this: Redis's allocator asks for the time before it is ready.
public final class TestClock: Sendable {
    private let directory: String
    private let file: Int32
    private let library: String
    private let shift = Mutex(Duration.zero)

    public init() throws {
        library = try Self.library.get()
        directory = try temporaryDirectory()
        let shift = directory + "/shift"
        file = open(shift, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0, ftruncate(file, 8) == 0 else {
            throw RedisServerError.failed("\(shift): \(lastSystemError())")
        }
    }

    deinit {
        close(file)
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Compiled once in a process. The compiler comes with Swift.
    private static let library = Result {
        let directory = try temporaryDirectory()
        directoryOfLibrary.withLock { $0 = directory }
        atexit { directoryOfLibrary.withLock { try? FileManager.default.removeItem(atPath: $0) } }
        let (source, library) = (directory + "/clock.c", directory + "/clock.so")
        try TestClock.source.write(toFile: source, atomically: false, encoding: .utf8)
        let compiler = try ChildProcess.spawn(["clang", "-shared", "-fPIC", "-O1", "-o", library, source])
        var status: Int32 = 0
        while waitpid(compiler, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw RedisServerError.failed("clang does not compile \(source)") }
        return library
    }
    private static let directoryOfLibrary = Mutex("")

    /// For the programs that have this clock.
    public var environment: [String: String] {
        ["LD_PRELOAD": library, "LAMPLIGHTER_TEST_CLOCK": directory + "/shift"]
    }

    /// How far the clock is ahead of this machine's.
    public var ahead: Duration { shift.withLock(\.self) }

    /// Sets the clock.
    public func set(ahead shift: Duration) {
        self.shift.withLock { current in
            current = shift
            var milliseconds = Int64(shift / .milliseconds(1))
            pwrite(file, &milliseconds, 8, 0)
        }
    }

    /// Moves the clock, forward or back.
    public func step(_ step: Duration) { set(ahead: ahead + step) }

    /// Asks the kernel for the time, because looking up the C library's functions would allocate memory.
    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>

        static volatile const int64_t *ahead;

        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("LAMPLIGHTER_TEST_CLOCK");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) return;
            void *memory = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
            close(file);
            if (memory != MAP_FAILED) ahead = memory;
        }

        static int64_t microseconds(void) {
            struct timespec time;
            syscall(SYS_clock_gettime, CLOCK_REALTIME, &time);
            return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000 + (ahead ? *ahead * 1000 : 0);
        }

        int clock_gettime(clockid_t clock, struct timespec *time) {
            if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
                return (int)syscall(SYS_clock_gettime, clock, time);
            int64_t now = microseconds();
            time->tv_sec = now / 1000000;
            time->tv_nsec = now % 1000000 * 1000;
            return 0;
        }

        int gettimeofday(struct timeval *restrict time, void *restrict zone) {
            (void)zone;
            int64_t now = microseconds();
            time->tv_sec = now / 1000000;
            time->tv_usec = now % 1000000;
            return 0;
        }

        time_t time(time_t *at) {
            time_t seconds = microseconds() / 1000000;
            if (at) *at = seconds;
            return seconds;
        }
        """
}
