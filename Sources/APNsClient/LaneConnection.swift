internal import APNsWire
internal import Curl

/// A connection of a lane with its window and what its transfers carry. Belongs to the lane's thread.
final class LaneConnection {
    let connection: MultiplexedConnection
    var window: StreamWindow
    /// By slot of the transfer; nil when the transfer is idle.
    private var requests: [CurlRequest?] = []
    /// Answers it has brought.
    var answers = 0
    /// Monotonic milliseconds of the last request or answer.
    var lastUse: Int64 = 0
    /// Since when it takes no request beyond those it has; nil while it takes them.
    var fullSince: Int64?

    init(_ endpoint: Endpoint, maximumStreams: Int) throws(CurlError) {
        connection = try MultiplexedConnection(endpoint)
        window = StreamWindow(maximum: maximumStreams)
    }

    var isEstablished: Bool { connection.startedRequests > 0 }
    /// Until the connection stands, one request makes it.
    var hasRoom: Bool { window.allows(inFlight: connection.inFlight) }

    func hand(_ request: CurlRequest, path: UnsafePointer<CChar>) throws(CurlError) {
        let transfer = try connection.nextTransfer()
        do {
            try transfer.prepare(path: path, headers: request.job.form.headers, body: request.job.form.body)
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
