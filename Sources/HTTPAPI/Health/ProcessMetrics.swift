import Glibc
import LiveActivity
import Metrics
import PrometheusText

/// Memory, processor time and open files of this process, read from the kernel at each scrape.
struct ProcessMetrics: Sendable {
    /// Epoch seconds. The kernel's own number would need its boot time, so this is when the server was made.
    private static let startedAt = Double(wallClock()) / 1_000
    private let registry: PrometheusRegistry

    init(_ registry: PrometheusRegistry) {
        self.registry = registry
        _ = Self.startedAt
    }

    func read() {
        if let pages = Self.words(of: "/proc/self/statm").dropFirst().first.flatMap({ Double($0) }) {
            set(.residentMemory, pages * Double(sysconf(Int32(_SC_PAGESIZE))))
        }
        var time = timespec()
        if clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 {
            registry.set(
                counter: GatewayMetricName.cpuTime.rawValue,
                to: Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000)
        }
        set(.startTime, Self.startedAt)
        if let open = Self.openFiles() { set(.openFiles, Double(open)) }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            set(.maximumFiles, Double(limit.rlim_cur))
        }
    }

    private func set(_ name: GatewayMetricName, _ value: Double) {
        Meter(label: name.rawValue, factory: registry).set(value)
    }

    /// The kernel's files are small and always answer at once.
    private static func words(of path: String) -> [Substring] {
        guard let file = fopen(path, "re") else { return [] }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ")
    }

    private static func openFiles() -> Int? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // The list has `.`, `..` and the directory itself too.
        return max(0, count - 3)
    }
}
