import APNsClient
import APNsWire
import ArgumentParser
import Delivery
import Foundation
import Hummingbird
import Lanes
import LiveActivity
import Logging
import Redis

/// The least that a gateway can be: a Hummingbird handler that reads the body and writes it into a stream. Prints its
/// port.
struct BareGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "gateway")
    @Option var redis: String

    func run() async throws {
        let client = RedisClient(url: try RedisURL(redis), logger: .warnings)
        let router = Router()
        router.post("/push") { request, _ in
            let body = try await request.body.collect(upTo: 1 << 20)
            try await client.send(RedisCommand("XADD", RedisKey("bare"), "*", "body", .bytes(body.readableBytesView)))
            return HTTPResponse.Status.accepted
        }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                FileHandle.standardOutput.write(Data("\(channel.localAddress?.port ?? 0)\n".utf8))
            }, logger: .warnings)
        try await application.runService()
    }
}

/// The least that a worker can be: reads entries, sends one request for each on a lane, acknowledges and deletes them.
struct BareWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "worker")
    @OptionGroup var key: KeyOptions
    @Option var redis: String
    @Option var transport: TransportKind
    @Option var port: Int
    @Option var caFile: String
    @Option var bodyFile: String

    func run() async throws {
        var configuration = APNsConfiguration(
            origin: "https://127.0.0.1:\(port)", teamID: key.teamID, keyID: key.keyID,
            keyPEM: Array(try Data(contentsOf: URL(fileURLWithPath: key.keyFile))), caFile: caFile)
        configuration.maximumStreams = 1_000
        let lanes = try LaneTransport(transport, configuration: configuration, logger: .warnings)
        let push = PreparedPush(
            bundleID: "com.example.scores", priority: .high, expiration: 0,
            payload: Array(try Data(contentsOf: URL(fileURLWithPath: bodyFile))))
        var page = TokenPage(reservingEntries: 1, bytes: 96)
        page.append(
            channel: [UInt8](repeating: 1, count: 16), token: [UInt8](repeating: 0xAB, count: 80), registeredAt: 0)
        let client = RedisClient(url: try RedisURL(redis), logger: .warnings)
        _ = try await client.pipeline([
            RedisCommand("XGROUP", ["CREATE", .key(RedisKey("bare")), "workers", "0", "MKSTREAM"])
        ])
        let reader = client.blockingConnection()
        let read = RedisCommand(
            "XREADGROUP",
            ["GROUP", "workers", "bench", "COUNT", "64", "BLOCK", "1000", "STREAMS", .key(RedisKey("bare")), ">"])
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                let reply = try await reader.send(read, blockingFor: .seconds(1))
                if reply.isNil { continue }
                for entry in try reply[0][1].array() {
                    let id = try entry[0].string()
                    group.addTask { [page] in
                        guard await lanes.send(page, push).accepted == 1 else { throw ExitCode(1) }
                        _ = try await client.pipeline([
                            RedisCommand("XACK", RedisKey("bare"), "workers", .string(id)),
                            RedisCommand("XDEL", RedisKey("bare"), .string(id)),
                        ])
                    }
                }
            }
        }
    }
}

extension Logger {
    /// Warnings and errors alone.
    static var warnings: Logger {
        var logger = Logger(label: "bench")
        logger.logLevel = .warning
        return logger
    }
}
