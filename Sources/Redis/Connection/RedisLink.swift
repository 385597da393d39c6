internal import Glibc

/// One connection and the reader of its replies. It is made, used and freed on one thread, and never copied.
struct RedisLink: ~Copyable {
    let wire: RedisWire
    /// The server at the other end.
    let address: RedisAddress
    private static let inputBytes = 128 << 10
    private let replies: ReplyReader
    private let input: UnsafeMutableRawBufferPointer

    /// Bytes that were appended to this link but not written yet: `outgoing[written...]`.
    private var outgoing: [UInt8] = []
    private var written = 0
    /// How many bytes were appended and written since the link was made.
    private(set) var appendedTotal = 0
    private(set) var writtenTotal = 0

    /// Connects, with TLS if the URL asks for it. Blocks the connection's thread.
    /// TCP and TLS each take at most the connect timeout, but name resolution has no limit. TLS ends at once when the
    /// mailbox closes.
    init(_ address: RedisAddress, _ settings: ConnectionSettings, _ mailbox: Mailbox) throws(LinkFailure) {
        let wire = try RedisWire(address, timeout: settings.options.connectTimeout)
        if settings.url.usesTLS {
            try wire.encrypt(settings.options.tls, within: settings.options.connectTimeout, mailbox)
        }
        let replies = try ReplyReader(pieceBytes: Self.inputBytes)
        (self.wire, self.address, self.replies) = (wire, address, replies)
        input = .allocate(byteCount: Self.inputBytes, alignment: 16)
    }

    deinit { input.deallocate() }

    var hasUnwritten: Bool { written < outgoing.count }
    var events: Int16 { wire.events(forWriting: hasUnwritten) }

    mutating func append(_ bytes: [UInt8]) {
        if outgoing.isEmpty { outgoing = bytes } else { outgoing.append(contentsOf: bytes) }
        appendedTotal += bytes.count
    }

    /// Writes as much as the socket takes now.
    mutating func flush() throws(LinkFailure) {
        while hasUnwritten {
            let result: Result<Int?, LinkFailure> = outgoing.withUnsafeBytes { bytes in
                Result { () throws(LinkFailure) in try wire.write(UnsafeRawBufferPointer(rebasing: bytes[written...])) }
            }
            guard let count = try result.get() else {
                // Free the written bytes: a slow server must not make the buffer keep all that passed through it.
                if written > 1 << 20, written > outgoing.count / 2 {
                    outgoing.removeFirst(written)
                    written = 0
                }
                return
            }
            written += count
            writtenTotal += count
        }
        outgoing = []
        written = 0
    }

    /// Sets how many replies the next arena consists of.
    func expect(replies count: Int) { replies.expect(replies: count) }

    /// Reads once what has arrived and gives it to the reader. False if nothing was there.
    func receive() throws(LinkFailure) -> Bool {
        guard let count = try wire.read(into: input) else { return false }
        try replies.feed(UnsafeRawBufferPointer(rebasing: input[..<count]))
        return true
    }

    /// Parses received replies, up to the end of the batch that `expect` announced.
    func readReplies() throws(LinkFailure) -> ReplyReader.Progress { try replies.read() }

    /// Whether bytes were received but not parsed. If no reply is due, the server sent something without a command.
    var hasUnread: Bool { replies.hasUnread }
    /// The first error reply of the current batch.
    var errorSoFar: String? { replies.errorSoFar }
}
