import Foundation

/// Finds which process owns which connection. The simulator's record holds ports, and the kernel knows their process.
enum PeerPorts {
    /// The local ports of the process's TCP connections to the ports `remote` of this machine.
    static func ports(of process: Int32, to remote: Set<Int>) -> [Int] {
        let descriptors = "/proc/\(process)/fd"
        let inodes = Set(
            ((try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []).compactMap {
                name -> Substring? in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: descriptors + "/" + name)
                return target.flatMap { $0.hasPrefix("socket:[") ? $0.dropFirst(8).dropLast() : nil }
            })
        // The columns are number, local address:port, remote address:port, state, …, and the inode as the tenth.
        let table = text("/proc/net/tcp")
        return table.split(separator: "\n").dropFirst().compactMap { line in
            let columns = line.split(separator: " ", omittingEmptySubsequences: true)
            guard columns.count > 9, inodes.contains(columns[9]), port(columns[2]).map(remote.contains) == true else {
                return nil
            }
            return port(columns[1])
        }
    }

    /// Reads a file of /proc in parts. Each read returns one page of it, and Foundation would take the first
    /// page as the whole file.
    private static func text(_ path: String) -> String {
        guard let file = FileHandle(forReadingAtPath: path) else { return "" }
        var bytes = Data()
        while let part = try? file.read(upToCount: 1 << 16), !part.isEmpty { bytes += part }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func port(_ address: Substring) -> Int? {
        address.split(separator: ":").last.flatMap { Int($0, radix: 16) }
    }
}
