internal import APNsWire
internal import Curl

/// A connection of a lane with its window and the requests of its transfers. It belongs to the lane's thread.
final class CurlConnection {
    let connection: MultiplexedConnection
    var window: CurlWindow
    /// Requests by the transfer's slot; nil when the transfer is idle.
    private var requests: [CurlRequest?] = []
    /// How many answers have come.
    private(set) var answers = 0
    /// Monotonic milliseconds of the last answer; nil before the first.
    private var lastAnswer: Int64?
    /// Milliseconds that a request takes, smoothed over some eight answers.
    private(set) var pace: Int64 = 0
    /// Monotonic milliseconds of the last request or answer.
    var lastUse: Int64 = 0
    /// Since when the connection accepts no further request; nil while it does.
    var fullSince: Int64?
    /// The log has a line on its closed window.
    var hasToldOfWindow = false

    init(_ endpoint: ServerAddress, maximumStreams: Int) throws(CurlError) {
        connection = try MultiplexedConnection(endpoint)
        window = CurlWindow(maximum: maximumStreams)
    }

    var isEstablished: Bool { connection.startedRequests > 0 }
    /// How many requests it accepts now: one until it is established, because that request makes the connection.
    var room: Int { max(0, window.size - connection.inFlight) }
    var hasRoom: Bool { window.allows(inFlight: connection.inFlight) }

    func answered(_ request: CurlRequest, now: Int64) {
        answers += 1
        lastAnswer = now
        lastUse = now
        fullSince = nil
        let took = now - request.handedAt
        pace = answers == 1 ? took : (7 * pace + took) / 8
    }

    /// Whether a request without an answer means that the connection is dead. It does if no answer has come for the
    /// second half of the request's time.
    func isSilent(now: Int64) -> Bool {
        let half = Int64(connection.endpoint.requestTimeoutMilliseconds / 2)
        return lastAnswer.map { now - $0 >= half } ?? true
    }

    func hand(_ request: CurlRequest, path: UnsafePointer<CChar>) throws(CurlError) {
        let transfer = try connection.nextTransfer()
        do {
            try transfer.prepare(path: path, headers: request.part.template.headers, body: request.part.template.body)
        } catch {
            connection.giveBack(transfer)
            throw error
        }
        if transfer.slot == requests.count {
            requests.append(nil)
        }
        try connection.start(transfer)
        requests[transfer.slot] = request
    }

    /// The request of a transfer that has ended.
    func release(_ transfer: PreparedTransfer) -> CurlRequest? {
        guard let request = requests[transfer.slot] else { return nil }
        requests[transfer.slot] = nil
        return request
    }

    /// Takes back the requests that have not begun to be sent.
    func takeBackUnsent() -> [CurlRequest] {
        connection.takeBackUnsent().compactMap(release)
    }
}
