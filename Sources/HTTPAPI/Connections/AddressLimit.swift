import Glibc
import LiveActivity
import Logging
import Synchronization

/// Counts the open connections of each client address, so that one client cannot use all of them.
final class AddressLimit: Sendable {
    /// 0 means no limit.
    private let limit: Int
    private let open = Mutex<[String: Int]>([:])
    private let lines = LogThrottle(burst: 1, perSecond: 1.0 / 60)

    /// The address by which a client is counted: IPv4, or the first 64 bits of IPv6, because a client has all addresses
    /// that begin so.
    static func network(of address: String) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, address, &bytes) == 1 else { return address }
        // A socket that listens on :: shows IPv4 clients like this. All of them are in one /64.
        if bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]) {
            return bytes[12...].map { "\($0)" }.joined(separator: ".")
        }
        let groups = stride(from: 0, to: 8, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }
        return groups.joined(separator: ":") + "::/64"
    }

    init(_ limit: Int) { self.limit = limit }

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
            "connection refused: this address is at gateway.max_connections_per_address",
            metadata: ["address": "\(address)", "limit": "\(limit)", "left_out": "\(leftOut)"])
    }
}
