import Foundation

/// Whose connections are whose: the record of the simulator knows ports, the kernel knows which process has them.
enum PeerPorts {
    /// Local ports of the process's TCP connections to `remote` of this machine.
    static func ports(of process: Int32, to remote: Int) -> [Int] {
        let descriptors = "/proc/\(process)/fd"
        let inodes = Set(
            ((try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []).compactMap {
                name -> Substring? in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: descriptors + "/" + name)
                return target.flatMap { $0.hasPrefix("socket:[") ? $0.dropFirst(8).dropLast() : nil }
            })
        // Columns: number, local address:port, remote address:port, state, …, inode (the tenth).
        let table = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)) ?? ""
        return table.split(separator: "\n").dropFirst().compactMap { line in
            let columns = line.split(separator: " ", omittingEmptySubsequences: true)
            guard columns.count > 9, inodes.contains(columns[9]), port(columns[2]) == remote else { return nil }
            return port(columns[1])
        }
    }

    private static func port(_ address: Substring) -> Int? {
        address.split(separator: ":").last.flatMap { Int($0, radix: 16) }
    }
}
