import Glibc

/// Files that the kernel writes of a process that crashed. Those of `serve` and `work` would hold secrets and tokens.
enum CoreFiles {
    /// Lets the kernel write none. The hard limit stays, so `prlimit --core=unlimited --pid` still asks for one.
    /// PR_SET_DUMPABLE would do the same, but Swift's backtrace of a crash could not read the process then.
    static func switchOff() {
        let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = 0
        setrlimit(resource, &limit)
    }
}
