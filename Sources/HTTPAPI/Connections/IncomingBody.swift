import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import StrictJSON
import Synchronization

/// The body of one request, received at most once and within its limits. If a request is refused before its body was
/// read, a small rest is read and dropped. Otherwise the connection is closed a moment after the response.
final class IncomingBody: Sendable {
    /// The most bytes of a refused request's body that are read and dropped, so that the connection can be used again.
    static let drainedBytes = 64 << 10
    /// The time between an early response and closing its connection, so that the response arrives before the reset.
    static let linger: TimeAmount = .seconds(5)
    private let body: RequestBody
    /// The connection that the body comes from. Nil for a body that came without a request.
    private let channel: (any Channel)?
    private let limit: Int
    /// To read the rest of a body that is refused.
    private let timeout: TimeAmount
    private let hasEncoding: Bool
    /// The client waits for 100 Continue before it sends the body.
    private let isAwaited: Bool
    /// The length that the head announces. Nil for a chunked body, whose length is unknown.
    let announced: Int?
    private let state = Mutex(State())

    private struct State {
        /// Guards against a second iteration, because Hummingbird ends the process then.
        var isBegun = false
        var isRead = false
        var isLate = false
        var bytes = 0
        /// The whole body, after it was read.
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
        isAwaited = announced != 0 && request.headers[.expect]?.lowercased() == "100-continue"
    }

    /// A body that is there already.
    init(whole: [UInt8]) {
        body = RequestBody(buffer: ByteBuffer())
        channel = nil
        limit = whole.count
        timeout = .zero
        hasEncoding = false
        isAwaited = false
        announced = 0
        state.withLock { $0.whole = whole }
    }

    var bytesRead: Int { state.withLock { $0.bytes } }
    /// The whole body. Empty for a call whose body is not read.
    func collect() -> [UInt8] { state.withLock { $0.whole } }

    /// - Parameters:
    ///   - share: counts bodies while they are received, and their bytes and the index of their JSON until the request
    ///     ends.
    ///   - most: a smaller limit of bytes for this caller
    ///   - time: a shorter time for this caller
    /// - Throws: 413 if the body is too large, 408 if it takes too long, 503 if too many bodies are in transit.
    func read(_ share: Capacity.Share, atMost most: Int = .max, within time: Duration? = nil) async throws {
        try checkEncoding()
        let limit = min(limit, most)
        guard announced ?? 0 <= limit else { throw APIError.bodyTooLarge(limit: limit) }
        if announced == 0 { return }
        guard share.take(.bodies) else { throw APIError.busy("request bodies that are received at once") }
        defer { share.giveBack(.bodies) }
        var bytes: [UInt8] = []
        let deadline = scheduleDeadline(time.map { min(TimeAmount($0), timeout) } ?? timeout)
        defer { deadline?.cancel() }
        try await receive { part in
            guard bytes.count + part.count <= limit else { throw APIError.bodyTooLarge(limit: limit) }
            guard share.take(.bytes, part.count) else { throw APIError.busy("bytes of request bodies in memory") }
            bytes.append(contentsOf: part)
        }
        try Self.takeIndex(of: bytes, share)
        state.withLock { $0.whole = bytes }
    }

    /// Counts the memory of the body's JSON beside its bytes. Otherwise many bodies of small values could take 18 times
    /// what `GatewayConfiguration.maximumBodyMemory` allows.
    static func takeIndex(of bytes: [UInt8], _ share: Capacity.Share) throws(APIError) {
        guard share.take(.bytes, JSONDocument.indexBytes(of: bytes)) else {
            throw APIError.busy("bytes of request bodies in memory")
        }
    }

    /// Passes on the body part by part as it arrives, without a limit of its size.
    func stream(_ take: (ByteBufferView) async throws -> Void) async throws {
        try checkEncoding()
        try await receive(take)
    }

    private func receive(_ take: (ByteBufferView) async throws -> Void) async throws {
        state.withLock { state in
            precondition(!state.isBegun, "a body is read once")
            state.isBegun = true
        }
        // Here the call is admitted: only this body is wanted.
        if isAwaited, let channel { RequestFormHandler.proceed(channel) }
        var parts = body.makeAsyncIterator()
        while true {
            let part: ByteBuffer?
            do { part = try await parts.next() } catch { throw failure(error) }
            guard let part else { break }
            state.withLock { $0.bytes += part.readableBytes }
            try await take(part.readableBytesView)
        }
        state.withLock { $0.isRead = true }
    }

    /// Runs on the channel's event loop. Closing only the input ends the receiving, so the response can still be sent.
    private func scheduleDeadline(_ time: TimeAmount) -> Scheduled<Void>? {
        guard let channel else { return nil }
        return channel.eventLoop.scheduleTask(in: time) { [weak self] in
            self?.state.withLock { $0.isLate = true }
            channel.close(mode: .input, promise: nil)
        }
    }

    private func failure(_ error: any Error) -> APIError {
        if state.withLock({ $0.isLate }) {
            return APIError(408, "The request body did not arrive in time. Send the request again.")
        }
        guard let error = error as? HTTPParserError, error != .invalidEOFState else {
            return APIError(400, "The request body is incomplete: the connection ended first. Send the request again.")
        }
        return APIError(400, "The request body does not match Content-Length or Transfer-Encoding.")
    }

    /// Must be called with every response. True if the connection cannot be used again.
    func finish() async -> Bool {
        let state = state.withLock { $0 }
        if state.isRead || announced == 0 { return false }
        // A client that waits for 100 Continue sends no rest.
        if !state.isBegun, !isAwaited, let announced, announced <= Self.drainedBytes, await drain() { return false }
        guard let channel else { return false }
        channel.eventLoop.scheduleTask(in: Self.linger) { channel.close(promise: nil) }
        return true
    }

    private func drain() async -> Bool {
        let deadline = scheduleDeadline(timeout)
        defer { deadline?.cancel() }
        return (try? await receive { _ in }) != nil
    }

    private func checkEncoding() throws(APIError) {
        if hasEncoding { throw APIError(415, "The request body must not be compressed: leave out Content-Encoding.") }
    }
}
