import Logging
import Synchronization

/// Counts the open connections of each client address, so that one client cannot use all of them.
final class AddressLimit: Sendable {
    /// 0 means no limit.
    private let limit: Int
    private let open = Mutex<[String: Int]>([:])
    private let lines = LogAllowance(burst: 1, perSecond: 1.0 / 60)

    init(_ limit: Int) {
        self.limit = limit
    }

    func take(_ address: String) -> Bool {
        guard limit > 0 else { return true }
        return open.withLock { open in
            guard open[address, default: 0] < limit else { return false }
            open[address, default: 0] += 1
            return true
        }
    }

    func giveBack(_ address: String) {
        guard limit > 0 else { return }
        open.withLock { open in
            let left = (open[address] ?? 0) - 1
            open[address] = left > 0 ? left : nil
        }
    }

    func logRefusal(of address: String, to logger: Logger) {
        guard let leftOut = lines.take() else { return }
        logger.warning(
            "connection refused: this address has as many as gateway.max_connections_per_address allows",
            metadata: ["address": "\(address)", "limit": "\(limit)", "left_out": "\(leftOut)"])
    }
}
