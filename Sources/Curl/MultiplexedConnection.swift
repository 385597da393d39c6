internal import CCurl
internal import Glibc

/// One HTTP/2 connection: a libcurl multi that makes a single connection in its life. libcurl can neither close a
/// chosen connection nor report a GOAWAY. So a retired connection gets no more requests, and is dropped when the last
/// one has ended. Only the thread that made it may call it. Order of destruction: transfers out of the multi, their
/// easy handles, the multi (which closes the sockets through `closeSocket`), then this object.
public final class MultiplexedConnection {
    public let endpoint: ServerAddress
    private let multi: UnsafeMutableRawPointer
    private let thread = pthread_self()
    private var transfers: [PreparedTransfer] = []
    private var idle: [PreparedTransfer] = []
    /// Open sockets: one, or two while the first address is slow and a second one is tried.
    private var sockets: [Int32] = []
    private var isCorked = false
    /// How many requests libcurl has begun to send in the life of this connection.
    public private(set) var startedRequests = 0
    /// Requests that were handed over and have not ended.
    public private(set) var inFlight = 0
    /// Requests in flight that libcurl has begun to send, so each holds a stream.
    public private(set) var streamsInUse = 0
    /// Requests that had not ended after the last `perform`: the streams in use then, if it was connected.
    public private(set) var running = 0
    private var lastCode = CURLE_OK
    /// All reports of transfers and sockets. `eventsAtPoll`: the reports up to the last `poll`.
    private var events = 0
    private var eventsAtPoll = 0
    /// Calls of `poll` in a row without a report in between.
    private var idlePolls = 0
    /// Memory that `poll` uses again and again.
    private var waits: [curl_waitfd] = []

    public init(_ endpoint: ServerAddress) throws(CurlError) {
        try CurlLibrary.prepare()
        guard let multi = curl_multi_init() else { throw CurlError("curl_multi_init") }
        self.multi = multi
        self.endpoint = endpoint
        // libcurl's default is 100, but servers may allow more.
        ccurl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 100_000)
        ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        // Allow two connections. A request that does not fit on the first one then asks for a socket at once and is
        // refused. With one, it would wait unseen inside libcurl.
        ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 2)
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 2)
    }

    deinit {
        for transfer in transfers { curl_multi_remove_handle(multi, transfer.easy.handle) }
        idle = []
        transfers = []
        curl_multi_cleanup(multi)
    }

    /// A transfer that is not in flight: a finished one, or a new one.
    public func nextTransfer() throws(CurlError) -> PreparedTransfer {
        preconditionOnThread()
        if let transfer = idle.popLast() { return transfer }
        let transfer = try PreparedTransfer(slot: transfers.count, connection: self)
        transfers.append(transfer)
        return transfer
    }

    /// Hands a prepared transfer to libcurl.
    public func start(_ transfer: PreparedTransfer) throws(CurlError) {
        let code = curl_multi_add_handle(multi, transfer.easy.handle)
        guard code == CURLM_OK else {
            idle.append(transfer)
            throw CurlError("curl_multi_add_handle", code: code.rawValue, curl_multi_strerror(code))
        }
        inFlight += 1
    }

    /// Takes back a transfer that was not started after all.
    public func giveBack(_ transfer: PreparedTransfer) { idle.append(transfer) }

    /// Reads and writes without blocking. Written bytes leave with the next `uncork`.
    public func perform() {
        preconditionOnThread()
        if !isCorked { setCork(true) }
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        self.running = Int(running)
    }

    /// One transfer that has ended and is idle now; nil if there is none. Its answer is readable until it is reused.
    public func nextFinished() -> (transfer: PreparedTransfer, result: TransferResult)? {
        var remaining: Int32 = 0
        while let message = curl_multi_info_read(multi, &remaining) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
            // Read the result now, because removing the handle frees the message.
            let code = ccurl_message_result(message)
            var context: UnsafeMutableRawPointer?
            ccurl_easy_get_private(handle, &context)
            guard let context else { continue }
            let transfer = Unmanaged<PreparedTransfer>.fromOpaque(context).takeUnretainedValue()
            let result = transfer.result(code)
            lastCode = code
            events += 1
            curl_multi_remove_handle(multi, handle)
            inFlight -= 1
            if transfer.starts > 0 { streamsInUse -= 1 }
            idle.append(transfer)
            return (transfer, result)
        }
        return nil
    }

    /// libcurl's error text on the transfer that `nextFinished` has just returned. It allocates memory.
    public func message(on transfer: PreparedTransfer) -> String { transfer.easy.message(on: lastCode) }

    /// Takes back the transfers that libcurl has not begun to send.
    public func takeBackUnsent() -> [PreparedTransfer] {
        guard inFlight > 0 else { return [] }
        let resting = Set(idle.map(\.slot))
        let unsent = transfers.filter { !resting.contains($0.slot) && $0.starts == 0 }
        for transfer in unsent {
            curl_multi_remove_handle(multi, transfer.easy.handle)
            inFlight -= 1
            idle.append(transfer)
        }
        return unsent
    }

    /// Lets the kernel send the bytes that `perform` has written, so each wake-up's requests use few packets.
    public func uncork() { if isCorked { setCork(false) } }

    /// After this many polls without a report, the loop waits for input only.
    private static let mostIdlePolls = 8
    private static let idleMilliseconds: Int32 = 20

    /// Blocks until a socket of this connection or of `others` is ready, libcurl's timer is due, or the time is over.
    public func poll(others: [Int32], milliseconds: Int32) {
        preconditionOnThread()
        idlePolls = events == eventsAtPoll ? idlePolls + 1 : 0
        eventsAtPoll = events
        guard idlePolls <= Self.mostIdlePolls || inFlight == 0 else {
            return waitForInput(others, min(milliseconds, Self.idleMilliseconds))
        }
        waits.removeAll(keepingCapacity: true)
        for descriptor in others {
            waits.append(curl_waitfd(fd: descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0))
        }
        waits.withUnsafeMutableBufferPointer {
            _ = curl_multi_poll(multi, $0.baseAddress, UInt32($0.count), milliseconds, nil)
        }
    }

    /// Waits for input only, because `curl_multi_poll` would spin until the request's deadline. The server's flow
    /// control or stream limit may hold a request back. libcurl then asks for a writable socket, although the socket
    /// accepts bytes (7.88.1: http2's `want_write`). In this wait libcurl's timers are some milliseconds late. Without
    /// a request libcurl reads nothing, so this wait would spin on a connection that its server has closed.
    private func waitForInput(_ others: [Int32], _ milliseconds: Int32) {
        var descriptors = (sockets + others).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        Glibc.poll(&descriptors, nfds_t(descriptors.count), milliseconds)
    }

    /// Open sockets, for another connection's `poll`.
    public var descriptors: [Int32] { sockets }

    /// Stops in debug and release, because a wrong thread would corrupt libcurl's state silently.
    private func preconditionOnThread() {
        precondition(pthread_equal(thread, pthread_self()) != 0, "a connection belongs to the thread that made it")
    }

    // MARK: What the transfers' callbacks report

    func didStart(isFirst: Bool) {
        events += 1
        startedRequests += 1
        if isFirst { streamsInUse += 1 }
    }

    func openSocket(_ address: curl_sockaddr) -> curl_socket_t? {
        let socket = Glibc.socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
        guard socket >= 0 else { return nil }
        // If a peer is gone, an error shows it when nothing of ours is acknowledged for as long as a request may take.
        setOption(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(clamping: endpoint.requestTimeoutMilliseconds))
        sockets.append(socket)
        events += 1
        return socket
    }

    func closeSocket(_ socket: curl_socket_t) {
        sockets.removeAll { $0 == socket }
        events += 1
        close(socket)
    }

    private func setCork(_ isOn: Bool) {
        guard startedRequests > 0 else { return }
        for socket in sockets { setOption(socket, Int32(IPPROTO_TCP), TCP_CORK, isOn ? 1 : 0) }
        isCorked = isOn
    }

    private func setOption(_ socket: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
