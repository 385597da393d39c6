/// Bodies of a server's answers, which wait for the client's flow-control windows.
struct LongBodies {
    private struct Body {
        var stream: UInt32
        var left: ArraySlice<UInt8>
    }

    /// The usual window with the bytes that the client's WINDOW_UPDATEs have added, less those that were sent.
    private var connection = 65_535
    private var streams: [UInt32: Int] = [:]
    /// Those that wait for the connection's window, in order, and those that wait for their stream's.
    private var ready: [Body] = []
    private var blocked: [UInt32: Body] = [:]

    /// Begins the body of an answer. Returns the frames that may be sent now, as `update` does.
    mutating func begin(_ stream: UInt32, _ body: [UInt8]) -> [UInt8] {
        streams[stream] = 65_535
        ready.append(Body(stream: stream, left: body[...]))
        return frames()
    }

    /// Notes a WINDOW_UPDATE. Stream 0 is the connection.
    mutating func update(_ stream: UInt32, by count: Int) -> [UInt8] {
        if stream == 0 { connection += count } else { streams[stream, default: 0] += count }
        if let body = blocked.removeValue(forKey: stream) { ready.append(body) }
        return frames()
    }

    private mutating func frames() -> [UInt8] {
        var frames: [UInt8] = []
        while connection > 0, var body = ready.first {
            let count = min(connection, streams[body.stream] ?? 0, FrameServer.frameLimit, body.left.count)
            guard count > 0 else {
                blocked[body.stream] = ready.removeFirst()
                continue
            }
            let part = Array(body.left.prefix(count))
            body.left = body.left.dropFirst(count)
            let isLast = body.left.isEmpty
            frames += FrameServer.frame(0, flags: isLast ? 1 : 0, stream: body.stream, part)
            connection -= count
            streams[body.stream, default: 0] -= count
            if isLast { ready.removeFirst() } else { ready[0] = body }
        }
        return frames
    }
}
