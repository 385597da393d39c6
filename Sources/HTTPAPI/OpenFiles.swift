#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A connection is a file descriptor, and a server that runs out of them stops accepting for good.
enum OpenFiles {
    /// For Redis, logs, event loops and what else the process opens.
    static let reserve = 128

    /// Raises the soft limit as far as the hard one allows, and says how many connections it has room for.
    static func connectionLimit(wanted: Int) -> Int {
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
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
