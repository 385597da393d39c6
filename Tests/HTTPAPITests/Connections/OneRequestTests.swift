import NIOCore
import NIOEmbedded
import NIOHTTP1
import Synchronization
import Testing

@testable import HTTPAPI

/// Tests how far the gateway reads ahead on one connection, without a socket.
@Suite struct OneRequestTests {
    private static func channel(turns: LoopTurns? = nil) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withErrorHandling: false)
        try RequestFormHandler.install(in: channel, limits: NIOHTTPDecoderLimitConfiguration(), turns: turns)
        channel.embeddedEventLoop.run()
        return channel
    }

    private static func heads(_ channel: EmbeddedChannel) throws -> Int {
        var count = 0
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            if case .head = part { count += 1 }
        }
        return count
    }

    private static func answer(_ channel: EmbeddedChannel) throws {
        try channel.writeOutbound(HTTPServerResponsePart.head(.init(version: .http1_1, status: .ok)))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        channel.embeddedEventLoop.run()
    }

    @Test func `requests that wait for their answers are not decoded, however many were sent`() throws {
        let channel = try Self.channel()
        let sent = 4_000
        let requests = String(repeating: "GET / HTTP/1.1\r\n\r\n", count: sent)
        try channel.writeInbound(ByteBuffer(string: requests))
        var decoded = try Self.heads(channel)
        #expect(decoded == 1)
        var answered = 0
        while answered < sent {
            guard decoded > answered else {
                Issue.record("stopped after \(answered) answers")
                return
            }
            try Self.answer(channel)
            answered += 1
            decoded += try Self.heads(channel)
            #expect(decoded - answered <= 1)
        }
        #expect(decoded == sent)
    }

    @Test func `in one turn of the event loop only some of the requests that were sent ahead begin`() throws {
        let turns = LoopTurns()
        let channels = try (0..<4).map { _ in try Self.channel(turns: turns) }
        let sent = 100
        for channel in channels {
            try channel.writeInbound(
                ByteBuffer(string: String(repeating: "GET / HTTP/1.1\r\n\r\n", count: sent)))
        }
        var decoded = try channels.map { try Self.heads($0) }
        #expect(decoded == [1, 1, 1, 1], "the first request of each read waits for no turn")
        var (count, inTurns) = (0, 0)
        while decoded.contains(where: { $0 < sent }) {
            var begun = 0
            for (index, channel) in channels.enumerated() {
                // Each channel has an event loop of its own here. Time alone, without a turn, begins nothing more.
                let before = decoded[index]
                var isWaiting = false
                while decoded[index] < sent, !isWaiting {
                    try Self.answer(channel)
                    channel.embeddedEventLoop.advanceTime(by: .milliseconds(5))
                    let new = try Self.heads(channel)
                    decoded[index] += new
                    isWaiting = new == 0
                }
                begun = max(begun, decoded[index] - before)
                turns.ended(ObjectIdentifier(channel.embeddedEventLoop as any EventLoop))
                channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
                decoded[index] += try Self.heads(channel)
            }
            #expect(begun <= LoopTurns.mostBegun + 1)
            (count, inTurns) = (count + 1, max(inTurns, begun))
            guard count < 100 else { break }
        }
        #expect(decoded == [sent, sent, sent, sent] && count >= sent / (LoopTurns.mostBegun + 1))
    }

    @Test(arguments: ["input closed", "closed", "answered"])
    func `an answer without an end ends when its client goes`(how: String) throws {
        let channel = try Self.channel()
        let ends = Mutex(0)
        try channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
        RequestFormHandler.whenGone(channel) { ends.withLock { $0 += 1 } }
        channel.embeddedEventLoop.run()
        #expect(ends.withLock(\.self) == 0)
        if how == "answered" { try Self.answer(channel) }
        if how != "closed" { channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        _ = try? channel.finish()
        #expect(ends.withLock(\.self) == (how == "answered" ? 0 : 1))
        RequestFormHandler.whenGone(channel) { ends.withLock { $0 = -1 } }
        channel.embeddedEventLoop.run()
        #expect(ends.withLock(\.self) == -1, "a client that has gone already")
    }

    @Test func `a body arrives whole while its request waits, and the end of the input behind what was sent`() throws {
        let channel = try Self.channel()
        let body = String(repeating: "x", count: 100_000)
        try channel.writeInbound(
            ByteBuffer(string: "POST / HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"))
        try channel.writeInbound(ByteBuffer(string: String(repeating: "GET / HTTP/1.1\r\n\r\n", count: 200)))
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        var bytes = 0
        var heads = 0
        var ends = 0
        while ends < 201 {
            guard let part = try channel.readInbound(as: HTTPServerRequestPart.self) else {
                Issue.record("stopped after \(ends) requests")
                return
            }
            switch part {
            case .head: heads += 1
            case .body(let part): bytes += part.readableBytes
            case .end:
                ends += 1
                try Self.answer(channel)
            }
        }
        #expect(bytes == body.utf8.count && heads == 201)
        _ = try? channel.finish()
    }
}
