internal import Curl

/// A connection of a lane with its window and the requests of its transfers. It belongs to the lane's thread.
final class CurlConnection: LaneConnection {
    let connection: MultiplexedConnection
    var window: CurlWindow
    /// Requests by the transfer's slot; nil when the transfer is idle.
    private var requests: [CurlRequest?] = []
    var use: ConnectionUse
    /// When a request was first seen to have left, monotonic milliseconds.
    private var establishedAt: Int64?

    init(_ endpoint: ServerAddress, maximumStreams: Int, now: Int64) throws(CurlError) {
        connection = try MultiplexedConnection(endpoint)
        window = CurlWindow(maximum: maximumStreams)
        use = ConnectionUse(now: now)
    }

    var inFlight: Int { connection.inFlight }
    var streams: Int { window.size }
    var isEstablished: Bool { connection.startedRequests > 0 }
    /// How many requests it accepts now: one until it is established, because that request makes the connection.
    var room: Int { max(0, window.size - connection.inFlight) }
    var hasRoom: Bool { window.allows(inFlight: connection.inFlight) }

    /// libcurl may hold requests back without a word.
    var holdsRequestsBack: Bool { connection.inFlight > connection.streamsInUse }
    /// libcurl sends no PING and reports none.
    func heardNothing(now: Int64, timeout: Int64) -> Bool? { nil }

    /// Without PINGs only the time tells whether the connection is alive. It counts from the moment when libcurl was
    /// seen to have sent the requests.
    func isAlive(since time: Int64, now: Int64) -> Bool {
        guard isEstablished, !holdsRequestsBack else { return false }
        establishedAt = establishedAt ?? now
        return now - max(establishedAt ?? now, use.lastRequest) >= time - use.lastRequest
    }

    /// A connection that was made and has had no answer yet is alive, and libcurl holds back what the server does not
    /// allow. Later only an answer tells that the connection is alive.
    func widen() -> Bool { use.answers == 0 && window.widen() }

    func submit(_ request: CurlRequest, _ text: RequestText) throws(CurlError) {
        let transfer = try connection.nextTransfer()
        do throws(CurlError) {
            let template = request.part.template
            try text.withBytes(of: request) { (path, body) throws(CurlError) in
                try path.withMemoryRebound(to: CChar.self) { (path) throws(CurlError) in
                    guard let start = path.baseAddress else { return }
                    try transfer.prepare(path: start, headers: template.headers, body: template.body(body))
                }
            }
        } catch {
            connection.giveBack(transfer)
            throw error
        }
        if transfer.slot == requests.count { requests.append(nil) }
        try connection.start(transfer)
        requests[transfer.slot] = request
    }

    /// The request of a transfer that has ended.
    func release(_ transfer: PreparedTransfer) -> CurlRequest? { requests[transfer.slot].take() }

    func takeBackUnsent() -> [CurlRequest] { connection.takeBackUnsent().compactMap(release) }
}
