internal import COpenSSL

/// One end of a TLS connection without a socket: the caller moves the bytes. It belongs to one thread at a time.
///
///     session.receive(bytesOfThePeer)
///     if try session.handshake() { let count = try session.read(into: buffer) }
///     send(session.takeOutput(…))     // after each call above, and after `write` and `close`
public final class TLSSession {
    private let connection: TLSConnection
    /// The connection owns both and frees them.
    private let input: OpaquePointer
    private let output: OpaquePointer

    /// The client's end.
    public convenience init(_ server: TLSServer) throws(TLSError) { try self.init(TLSConnection(server)) }

    /// The server's end.
    public convenience init(_ identity: TLSIdentity) throws(TLSError) { try self.init(TLSConnection(identity)) }

    private init(_ connection: TLSConnection) throws(TLSError) {
        guard let input = BIO_new(BIO_s_mem()) else { throw .setup(openSSLMessage()) }
        guard let output = BIO_new(BIO_s_mem()) else {
            BIO_free(input)
            throw .setup(openSSLMessage())
        }
        SSL_set_bio(connection.ssl, input, output)
        self.connection = connection
        self.input = input
        self.output = output
    }

    /// Adds bytes that came from the peer.
    public func receive(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 0 else { return }
        var count = 0
        let result = BIO_write_ex(input, bytes.baseAddress, bytes.count, &count)
        precondition(result == 1 && count == bytes.count, "a memory BIO takes everything while there is memory")
    }

    /// Continues the handshake. True when it is complete; false when more bytes of the peer are needed.
    public func handshake() throws(TLSError) -> Bool { try connection.handshake() == .done(0) }

    /// The ALPN protocol, known after the handshake. Nil: none.
    public var applicationProtocol: String? { connection.applicationProtocol }

    /// Whether bytes of the peer wait to be decrypted. They may be a part of a record.
    public var hasInput: Bool { BIO_ctrl_pending(input) > 0 || connection.hasBuffered }

    /// Decrypts one record or a part of it.
    /// - Returns: the number of bytes; 0 when more bytes of the peer are needed
    /// - Throws: `.lost` after the peer's close_notify
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(TLSError) -> Int {
        guard hasInput else { return 0 }
        guard case .done(let count) = try connection.read(into: buffer) else { return 0 }
        return count
    }

    /// Encrypts all bytes. Only after the handshake.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
        var rest = bytes
        while rest.count > 0 {
            // This does not happen: memory takes every byte, and renegotiation is off.
            guard case .done(let count) = try connection.write(rest) else {
                throw .handshake("a write waits for the peer")
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Writes close_notify. Not after an error.
    public func close() { connection.close() }

    /// The number of bytes to send to the peer.
    public var outputCount: Int { BIO_ctrl_pending(output) }

    /// Moves bytes to send into the buffer, and returns how many.
    public func takeOutput(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        guard buffer.count > 0, BIO_read_ex(output, buffer.baseAddress, buffer.count, &count) == 1 else { return 0 }
        return count
    }
}
