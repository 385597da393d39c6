import Glibc

/// An address whose connections are never made: its queue is full, so the kernel drops further ones.
final class SilentListener {
    private var descriptors: [Int32] = []

    init(_ host: String, port: UInt16) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        func call(
            _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ descriptor: Int32
        ) -> Int32 {
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        descriptors.append(listener)
        var reuse: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        guard call({ bind($0, $1, $2) }, listener) == 0, listen(listener, 0) == 0 else { throw Failure(code: errno) }
        // The kernel takes one or two; later ones wait for ever.
        for _ in 0..<4 {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            descriptors.append(client)
            _ = call({ connect($0, $1, $2) }, client)
        }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }

    struct Failure: Error { var code: Int32 }
}
