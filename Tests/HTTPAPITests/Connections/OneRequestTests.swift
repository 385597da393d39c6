import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPAPI

/// Tests how far the gateway reads ahead on one connection, without a socket.
@Suite struct OneRequestTests {
    private static func channel() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withErrorHandling: false)
        try RequestFormHandler.install(in: channel, limits: NIOHTTPDecoderLimitConfiguration())
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
        // One part is decoded at once.
        var decoded = try Self.heads(channel)
        #expect(decoded > 0 && decoded <= OneRequestHandler.partBytes / 18 + 1)
        var answered = 0
        while answered < sent {
            guard decoded > answered else {
                Issue.record("stopped after \(answered) answers")
                return
            }
            try Self.answer(channel)
            answered += 1
            decoded += try Self.heads(channel)
            #expect(decoded - answered <= OneRequestHandler.partBytes / 18 + 1)
        }
        #expect(decoded == sent)
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
