import Curl
import Dispatch
import Testing
import Threads

/// Tests how often a libcurl lane wakes up while a server blocks its request.
@Suite struct IdleTurnsTests {
    /// Runs what may block on a thread of its own, as a lane has one.
    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let isStarted = NamedThread.start("turns") { continuation.resume(with: Result(catching: body)) }
            if !isStarted { continuation.resume(throwing: CancellationError()) }
        }
    }

    /// Counts the turns of a lane's loop in two seconds of a request that the server holds back.
    ///
    /// A first request usually leaves before the server's SETTINGS are there, so it ends and the second one is blocked.
    /// - Returns: the turns, and how the requests ended that did
    private static func turns(_ endpoint: ServerAddress) throws -> (turns: Int, ends: [TransferFault?]) {
        let connection = try MultiplexedConnection(endpoint)
        let headers = try HeaderList([(name: "apns-topic", value: "x")])
        let body = SharedBody([UInt8](repeating: 0x20, count: 400))
        var ends: [TransferFault?] = []
        var turns = 0
        for number in 0..<2 {
            let transfer = try connection.nextTransfer()
            try transfer.prepare(path: "/3/device/00", headers: headers, body: body)
            try connection.start(transfer)
            turns = 0
            let over = ContinuousClock.now + .seconds(2)
            while ContinuousClock.now < over, ends.count == number {
                turns += 1
                connection.perform()
                if let (_, result) = connection.nextFinished() { ends.append(result.fault) }
                connection.uncork()
                if ends.count == number { connection.poll(others: [], milliseconds: 100) }
            }
            if ends.count == number { break }
        }
        return (turns, ends)
    }

    /// The server sets INITIAL_WINDOW_SIZE (4) or MAX_CONCURRENT_STREAMS (3) to 0. A slow machine only turns less
    /// often.
    @Test(arguments: [4, 3] as [UInt16])
    func `a server that takes nothing costs a turn now and then`(setting: UInt16) async throws {
        let server = try await FrameServer.start(FrameServer.Script(settings: { [(id: setting, value: UInt32(0))] }))
        let endpoint = ServerAddress(
            origin: "https://127.0.0.1:\(server.port)", caFile: server.caFile, requestTimeoutMilliseconds: 120_000)
        let (turns, ends) = try await Self.onThread { try Self.turns(endpoint) }
        #expect(ends == [nil] || ends.isEmpty)
        #expect(turns < 200, "fifty a second are plenty")
        await server.stop()
    }

    /// Counts the turns of a lane's loop in two seconds behind an answer and the end of its connection.
    private static func turnsBehindEnd(
        _ endpoint: ServerAddress, answered: () -> Void, waitForEnd: () -> Void
    ) throws -> Int {
        let connection = try MultiplexedConnection(endpoint)
        let transfer = try connection.nextTransfer()
        let headers = try HeaderList([(name: "apns-topic", value: "x")])
        try transfer.prepare(path: "/3/device/00", headers: headers, body: SharedBody([0x20]))
        try connection.start(transfer)
        repeat {
            connection.perform()
            connection.uncork()
            connection.poll(others: [], milliseconds: 10)
        } while connection.nextFinished() == nil
        answered()
        waitForEnd()
        var turns = 0
        let over = ContinuousClock.now + .seconds(2)
        while ContinuousClock.now < over {
            turns += 1
            connection.perform()
            connection.uncork()
            connection.poll(others: [], milliseconds: 100)
        }
        return turns
    }

    /// FCM does so after its idle time, and the lane sleeps until the next push.
    @Test func `a server that closes an idle connection costs no turns`() async throws {
        let server = try await FrameServer.start()
        let endpoint = ServerAddress(
            origin: "https://127.0.0.1:\(server.port)", caFile: server.caFile, requestTimeoutMilliseconds: 120_000)
        let (answers, answer) = AsyncStream<Void>.makeStream()
        let end = DispatchSemaphore(value: 0)
        async let turns = Self.onThread {
            try Self.turnsBehindEnd(endpoint, answered: { answer.finish() }, waitForEnd: { end.wait() })
        }
        for await _ in answers {}
        await server.stop()
        end.signal()
        #expect(try await (1..<100).contains(turns), "ten a second are plenty")
    }
}
