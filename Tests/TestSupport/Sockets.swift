import Foundation
import Synchronization

/// A port of 127.0.0.1 that was free just now.
/// Between this call and the server's start no connection of another test can take it, because the system gives these
/// none of the ports below 32768. Each call gives another one.
public func freePort() throws -> Int {
    for _ in 0..<1_000 {
        let port = ports.lowerBound + lastPort.add(1, ordering: .relaxed).newValue % ports.count
        guard let bound = try? boundSocket(port: port) else { continue }
        close(bound.socket)
        return port
    }
    throw SocketError(description: "no port from \(ports.lowerBound) to \(ports.upperBound - 1) is free")
}

/// bin/test gives each of two commands that run side by side 5,000 ports of its own: TEST_PORTS is the first. The
/// processes of a deployment would warn of a variable LAMPLIGHTER_….
private let ports =
    ProcessInfo.processInfo.environment["TEST_PORTS"].flatMap(Int.init).map { $0..<$0 + 5_000 }
    ?? 10_000..<20_000

/// Several processes of tests may run at once.
private let lastPort = Atomic(Int.random(in: 0..<10_000))

/// A listening TCP socket on a free port of 127.0.0.1.
public func listeningSocket() throws -> (socket: Int32, port: Int) { try boundSocket(isListening: true) }

/// A TCP socket on a free port of 127.0.0.1, which refuses connections unless it listens.
public func boundSocket(isListening: Bool = false, port: Int = 0) throws -> (socket: Int32, port: Int) {
    let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw SocketError(description: "socket: \(lastSystemError())") }
    var on: Int32 = 1
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = loopback(port)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(socket, $0, length) == 0 && (!isListening || listen(socket, 128) == 0)
                && getsockname(socket, $0, &length) == 0
        }
    }
    guard bound else {
        defer { close(socket) }
        throw SocketError(description: "bind: \(lastSystemError())")
    }
    return (socket, Int(in_port_t(bigEndian: address.sin_port)))
}

/// A stream socket connected to the unix socket at `path`.
public func connectedSocket(path: String) throws -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return try connectedSocket(AF_UNIX, to: address)
}

/// A TCP socket connected to a port of 127.0.0.1. `receiveBuffer` is how many unread bytes the kernel keeps. 0 leaves
/// that to the kernel.
public func connectedSocket(port: Int, receiveBuffer: Int32 = 0) throws -> Int32 {
    try connectedSocket(AF_INET, to: loopback(port), receiveBuffer)
}

private func connectedSocket<Address>(
    _ family: Int32, to address: Address, _ receiveBuffer: Int32 = 0
) throws -> Int32 {
    let socket = Foundation.socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw SocketError(description: "socket: \(lastSystemError())") }
    var size = receiveBuffer
    if size > 0 { setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size)) }
    let connected = withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(socket, $0, socklen_t(MemoryLayout<Address>.size)) == 0
        }
    }
    guard connected else {
        defer { close(socket) }
        throw SocketError(description: "connect: \(lastSystemError())")
    }
    return socket
}

private func loopback(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    return address
}

/// A pipe whose ends other children do not inherit.
func pipeClosedOnExec() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw SocketError(description: "pipe: \(lastSystemError())") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}

func lastSystemError() -> String { String(cString: strerror(errno)) }

public struct SocketError: Error, CustomStringConvertible {
    public let description: String
}
