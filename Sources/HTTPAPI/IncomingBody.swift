import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import Synchronization

/// The body of one request: received at most once, within its limits. When a request is refused before its body was read, the
/// rest of it is either small and thrown away, or the connection is closed a moment after the answer.
final class IncomingBody: Sendable {
    /// A refused request's body up to this size is read and dropped, so that the connection can be used again.
    static let drainedBytes = 64 << 10
    /// Between an early answer and the closing of its connection: time for the answer to arrive before the reset.
    static let linger: TimeAmount = .seconds(5)

    private let body: RequestBody
    private let channel: any Channel
    private let limit: Int
    private let timeout: TimeAmount
    private let hasEncoding: Bool
    /// Nil: chunked, of unknown length.
    private let announced: Int?
    private let state = Mutex(State())

    private struct State {
        /// Hummingbird's body can be iterated once; a second time ends the process.
        var isBegun = false
        var isRead = false
        var isLate = false
        var bytes = 0
        /// The whole, once it was read.
        var whole: [UInt8] = []
    }

    init(_ request: Request, channel: any Channel, limit: Int, timeout: Duration) {
        body = request.body
        self.channel = channel
        self.limit = limit
        self.timeout = TimeAmount(timeout)
        announced =
            request.headers[.contentLength].flatMap { Int($0) } ?? (request.headers[.transferEncoding] == nil ? 0 : nil)
        hasEncoding = !["", "identity"].contains((request.headers[.contentEncoding] ?? "").lowercased())
    }

    /// Bytes read so far.
    var bytesRead: Int { state.withLock { $0.bytes } }

    /// The whole body; empty for a call whose body is not read.
    func collect() -> [UInt8] { state.withLock { $0.whole } }

    /// Receives the whole body. 413 if it is too large, 408 if it takes too long, 503 if too much is on its way.
    /// - Parameter holding: counts bodies while they are received, and their bytes until the request ends.
    func read(_ holding: Capacity.Holding) async throws(APIError) {
        try checkEncoding()
        guard announced ?? 0 <= limit else { throw .bodyTooLarge(limit: limit) }
        if announced == 0 { return }
        guard holding.take(.bodies) else { throw .busy("request bodies on their way") }
        defer { holding.giveBack(.bodies) }
        begin()
        var bytes: [UInt8] = []
        let deadline = scheduleDeadline()
        defer { deadline.cancel() }
        do {
            for try await part in body {
                count(part.readableBytes)
                guard bytes.count + part.readableBytes <= limit else { throw APIError.bodyTooLarge(limit: limit) }
                guard holding.take(.bytes, part.readableBytes) else { throw APIError.busy("request bodies in memory") }
                bytes.append(contentsOf: part.readableBytesView)
            }
        } catch let error as APIError {
            throw error
        } catch {
            throw failure(error)
        }
        state.withLock { state in
            state.isRead = true
            state.whole = bytes
        }
    }

    /// On the channel's event loop. Closing the input ends the receiving; the answer can still go out.
    private func scheduleDeadline() -> Scheduled<Void> {
        let channel = self.channel
        return channel.eventLoop.scheduleTask(in: timeout) { [weak self] in
            self?.state.withLock { $0.isLate = true }
            channel.close(mode: .input, promise: nil)
        }
    }

    private func failure(_ error: any Error) -> APIError {
        if state.withLock({ $0.isLate }) { return APIError(408, "The request body did not arrive whole in time.") }
        guard let error = error as? HTTPParserError, error != .invalidEOFState else {
            return APIError(400, "The request body did not arrive whole.")
        }
        return APIError(400, "The request body is not framed as its header fields say.")
    }

    /// Hands on the body part by part as it arrives, without a limit of its size.
    func stream(_ take: (ByteBufferView) async throws(APIError) -> Void) async throws(APIError) {
        try checkEncoding()
        begin()
        do {
            for try await part in body {
                count(part.readableBytes)
                try await take(part.readableBytesView)
            }
        } catch let error as APIError {
            throw error
        } catch {
            throw failure(error)
        }
        markRead()
    }

    /// To be called with every answer. True if the connection cannot be used again.
    func finish() async -> Bool {
        let state = state.withLock { $0 }
        if state.isRead || announced == 0 { return false }
        if !state.isBegun, let announced, announced <= Self.drainedBytes, await drain() { return false }
        let channel = self.channel
        channel.eventLoop.scheduleTask(in: Self.linger) { channel.close(promise: nil) }
        return true
    }

    private func drain() async -> Bool {
        begin()
        let deadline = scheduleDeadline()
        defer { deadline.cancel() }
        do {
            for try await part in body { count(part.readableBytes) }
            markRead()
            return true
        } catch {
            return false
        }
    }

    private func checkEncoding() throws(APIError) {
        if hasEncoding { throw APIError(415, "The request body must not be compressed: leave out Content-Encoding.") }
    }

    private func begin() {
        state.withLock { state in
            precondition(!state.isBegun, "a body is read once")
            state.isBegun = true
        }
    }

    private func count(_ bytes: Int) { state.withLock { $0.bytes += bytes } }
    private func markRead() { state.withLock { $0.isRead = true } }
}
