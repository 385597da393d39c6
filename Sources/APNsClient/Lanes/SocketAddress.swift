struct SocketAddress: Sendable {
    let family: Int32
    let bytes: [UInt8]
}
