import Glibc

/// The process's limit of file descriptors. A server that runs out of them stops accepting connections for good.
enum OpenFiles {
    /// Descriptors kept free for Redis, logs, event loops and other files of the process.
    static let reserve = 128

    /// Raises the soft limit as far as the hard limit allows, and returns how many connections fit.
    static func connectionLimit(wanted: Int) -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return min(wanted, 512) }
        let needed = rlim_t(wanted + reserve)
        if limit.rlim_cur < needed {
            var raised = limit
            raised.rlim_cur = min(needed, limit.rlim_max)
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return max(16, min(wanted, Int(clamping: limit.rlim_cur) - reserve))
    }
}
