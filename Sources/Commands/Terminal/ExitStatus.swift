/// The exit codes for a shell or a supervisor. The values are those of sysexits.h.
enum ExitStatus: Int32 {
    case done = 0
    case failed = 1
    case usage = 64
    case unreachable = 69
    case configuration = 78
}
