internal import APNsWire
internal import Curl

/// One request, wherever it is: queued again, or in a transfer.
struct LaneRequest {
    let job: PageJob
    /// Of the entry in the job's page.
    let index: Int
    /// Already repeated with a new provider token.
    var hasRenewed = false
    /// When it was first handed over: monotonic milliseconds.
    var since: Int64
}

/// A connection of a lane with its window and what its transfers carry. Belongs to the lane's thread.
final class LaneConnection {
    let connection: MultiplexedConnection
    var window: StreamWindow
    /// By slot of the transfer; nil when the transfer is idle.
    private var requests: [LaneRequest?] = []
    /// The provider token that a slot's request carries.
    private var tokens: [ProviderToken?] = []
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

    func hand(_ request: LaneRequest, _ token: ProviderToken, path: UnsafePointer<CChar>) throws(CurlError) {
        let transfer = try connection.nextTransfer()
        do {
            try transfer.prepare(path: path, headers: request.job.headers, body: request.job.body)
        } catch {
            connection.giveBack(transfer)
            throw error
        }
        if transfer.slot == requests.count {
            requests.append(nil)
            tokens.append(nil)
        }
        try connection.start(transfer)
        requests[transfer.slot] = request
        tokens[transfer.slot] = token
    }

    /// The request of a transfer that has ended, and the token it carried.
    func release(_ transfer: PreparedTransfer) -> (LaneRequest, ProviderToken)? {
        guard let request = requests[transfer.slot], let token = tokens[transfer.slot] else { return nil }
        requests[transfer.slot] = nil
        return (request, token)
    }

    /// Takes back the requests that have not begun to be sent.
    func takeBackUnsent() -> [LaneRequest] {
        connection.takeBackUnsent().compactMap { release($0)?.0 }
    }
}
