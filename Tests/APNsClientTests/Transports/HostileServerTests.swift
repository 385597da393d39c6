import APNsClient
import APNsWire
import Delivery
import Foundation
import Lanes
import Logging
import Testing

private let asksForFloods = ProcessInfo.processInfo.environment["LAMPLIGHTER_TEST_FLOODS"] == "1"

extension TransportTests {
    /// A server that floods a lane, in place of an answer. Every token gets one outcome and the lane ends in order.
    /// It runs alone (`bin/nightly fuzz`): beside it, suites with deadlines of some seconds would miss these.
    @Suite(.serialized, .enabled(if: asksForFloods, "LAMPLIGHTER_TEST_FLOODS=1 runs it, without other suites"))
    struct HostileServerTests {
        enum Flood: String, CaseIterable, Sendable {
            case settings, ping, resets, windows, continuations, longHeaders, headerBomb, goaways, body, unknownFrames

            func frames(_ stream: UInt32) -> [UInt8] {
                func many(_ count: Int, _ frame: [UInt8]) -> [UInt8] {
                    [UInt8]((0..<count).map { _ in frame }.joined())
                }
                let header: [UInt8] = [0x00, 1, 0x61, 1, 0x62]
                switch self {
                case .settings: return many(2_000, FrameServer.settings([(3, 100)]))
                case .ping: return many(2_000, FrameServer.frame(6, stream: 0, Array("12345678".utf8)))
                case .resets: return many(1_500, FrameServer.frame(3, stream: stream, FrameServer.bytes(7)))
                case .windows: return many(2_000, FrameServer.frame(8, stream: 0, FrameServer.bytes(0x7FFF_FFFF)))
                case .continuations:
                    return FrameServer.frame(1, stream: stream, [0x88])
                        + many(2_000, FrameServer.frame(9, stream: stream, header))
                case .longHeaders:
                    let block = many(FrameServer.frameLimit / header.count, header)
                    return FrameServer.frame(1, stream: stream, [0x88])
                        + many(40, FrameServer.frame(9, stream: stream, block))
                case .headerBomb:
                    // One field of 4,000 bytes goes into the table, and each byte that follows repeats it: 64 MB.
                    let big: [UInt8] = [0x40, 1, 0x61, 0x7F, 0xA1, 0x1E] + [UInt8](repeating: 0x62, count: 4_000)
                    return FrameServer.frame(1, stream: stream, [0x88] + big)
                        + FrameServer.frame(9, stream: stream, [UInt8](repeating: 0xBE, count: FrameServer.frameLimit))
                case .goaways:
                    let payload = FrameServer.bytes(0x7FFF_FFFF) + FrameServer.bytes(0)
                    return many(1_500, FrameServer.frame(7, stream: 0, payload))
                case .body:
                    return FrameServer.frame(1, flags: 4, stream: stream, [0x88])
                        + many(50, FrameServer.frame(0, stream: stream, [UInt8](repeating: 0x61, count: 16_384)))
                case .unknownFrames: return many(2_000, FrameServer.frame(0xEE, stream: 0, Array("12345678".utf8)))
                }
            }
        }

        @Test(arguments: TransportKind.allCases, Flood.allCases)
        func `a flood costs no token its outcome`(_ kind: TransportKind, _ flood: Flood) async throws {
            var script = FrameServer.Script()
            script.answer = { flood.frames($0) }
            let server = try await FrameServer.start(script)
            var logger = Logger(label: "hostile")
            logger.logLevel = .critical
            let transport = try LaneTransport(
                kind, configuration: server.client(timeout: .milliseconds(500)), logger: logger)
            let outcome = await transport.send(Simulation.page(0..<2), Simulation.push())
            #expect(outcome.count == 2)
            #expect(transport.load == 0)
            await transport.close()
            await server.stop()
        }
    }
}
