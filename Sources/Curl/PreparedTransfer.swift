internal import CCurl

/// A body that any number of transfers of one thread send without copying it.
public final class SharedBody {
    let bytes: UnsafeMutableRawBufferPointer

    public init(_ source: [UInt8]) {
        bytes = .allocate(byteCount: max(1, source.count), alignment: 1)
        bytes.copyBytes(from: source)
        count = source.count
    }

    public let count: Int

    deinit { bytes.deallocate() }
}

/// One reusable POST of a `MultiplexedConnection`: an easy handle whose options are set once. Each request sets only
/// the path, and header list and body if they changed. It belongs to the connection's thread. Order of destruction: the
/// connection removes it from its multi. `deinit` takes the kept pointers from the easy handle, and frees the URL.
public final class PreparedTransfer {
    /// The longest answer that is kept; the rest is read and dropped. APNs's answers have less than 200 bytes.
    public static let answerCapacity = 4_096

    /// The number of this transfer in its connection.
    public let slot: Int
    let easy: EasyHandle
    private let url: OpaquePointer
    private var headers: HeaderList?
    private var body: SharedBody?
    private let answer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: PreparedTransfer.answerCapacity, alignment: 1)
    private var answerLength = 0
    /// How often libcurl has begun to send the request.
    private(set) var starts = 0
    fileprivate var wasDeclaredUnprocessed = false
    fileprivate var streamsAtRefusal: Int?
    fileprivate unowned let connection: MultiplexedConnection

    init(slot: Int, connection: MultiplexedConnection) throws(CurlError) {
        self.slot = slot
        self.connection = connection
        easy = try EasyHandle()
        guard let url = curl_url() else { throw CurlError("curl_url") }
        self.url = url
        try setOnce(connection.endpoint)
    }

    deinit {
        ccurl_easy_set_url(easy.handle, nil)
        ccurl_easy_set_list(easy.handle, CURLOPT_HTTPHEADER, nil)
        ccurl_easy_set_pointer(easy.handle, CURLOPT_POSTFIELDS, nil)
        curl_url_cleanup(url)
        answer.deallocate()
    }

    private func setOnce(_ endpoint: ServerAddress) throws(CurlError) {
        guard curl_url_set(url, CURLUPART_URL, endpoint.origin, 0) == CURLUE_OK else {
            throw CurlError("curl_url_set", "\(endpoint.origin) is not a URL (3)")
        }
        let context = Unmanaged.passUnretained(self).toOpaque()
        try easy.setCommon(caFile: endpoint.caFile)
        try EasyHandle.check(ccurl_easy_set_url(easy.handle, url), CURLOPT_CURLU)
        try easy.set(CURLOPT_PROTOCOLS_STR, "https")
        try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        try easy.set(CURLOPT_PIPEWAIT, 1)
        try easy.set(CURLOPT_POST, 1)
        // The receive buffer of a handle. libcurl 7.88.1 leaves the rest of a larger answer unread until the deadline.
        try easy.set(CURLOPT_BUFFERSIZE, 16_384)
        // 64 KiB is the default, but requests have at most 4 KiB.
        try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, 16_384)
        try easy.set(CURLOPT_TIMEOUT_MS, endpoint.requestTimeoutMilliseconds)
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, endpoint.requestTimeoutMilliseconds)
        // The default is two minutes, but APNs wants a connection kept for hours.
        try easy.set(CURLOPT_MAXAGE_CONN, 86_400)
        // A multi makes one connection and looks the name up once for it, so each new connection looks it up again.
        try easy.set(CURLOPT_DNS_CACHE_TIMEOUT, 60)
        try easy.set(CURLOPT_PRIVATE, pointer: context)
        try EasyHandle.check(
            ccurl_easy_set_data_callback(easy.handle, CURLOPT_WRITEFUNCTION, receiveAnswer), CURLOPT_WRITEFUNCTION)
        try easy.set(CURLOPT_WRITEDATA, pointer: context)
        try EasyHandle.check(ccurl_easy_set_prerequest(easy.handle, noteStart), CURLOPT_PREREQFUNCTION)
        try easy.set(CURLOPT_PREREQDATA, pointer: context)
        try EasyHandle.check(ccurl_easy_set_opensocket(easy.handle, provideSocket), CURLOPT_OPENSOCKETFUNCTION)
        try easy.set(CURLOPT_OPENSOCKETDATA, pointer: context)
        // The socket outlives the transfer that opened it, so its context is the connection.
        let owner = Unmanaged.passUnretained(connection).toOpaque()
        try EasyHandle.check(ccurl_easy_set_closesocket(easy.handle, releaseSocket), CURLOPT_CLOSESOCKETFUNCTION)
        try easy.set(CURLOPT_CLOSESOCKETDATA, pointer: owner)
    }

    /// Prepares the next request. `path` is NUL-terminated and begins with a slash. `headers` and `body` are kept until
    /// the next `prepare` or the end of this object.
    public func prepare(path: UnsafePointer<CChar>, headers: HeaderList, body: SharedBody) throws(CurlError) {
        guard curl_url_set(url, CURLUPART_PATH, path, 0) == CURLUE_OK else { throw CurlError("curl_url_set(path)") }
        if self.headers !== headers {
            try easy.set(headers: headers)
            self.headers = headers
        }
        if self.body !== body {
            try easy.set(CURLOPT_POSTFIELDSIZE, body.count)
            try easy.set(CURLOPT_POSTFIELDS, pointer: body.bytes.baseAddress)
            self.body = body
        }
        starts = 0
        answerLength = 0
        wasDeclaredUnprocessed = false
        streamsAtRefusal = nil
    }

    /// The body of the answer, up to `answerCapacity` bytes; valid until the next `prepare`.
    public func withAnswer<Value>(_ read: (UnsafeRawBufferPointer) -> Value) -> Value {
        read(UnsafeRawBufferPointer(rebasing: answer[..<answerLength]))
    }

    /// The value of an answer's header. It allocates memory, so it is for answers other than 200.
    public func header(_ name: String) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        guard curl_easy_header(easy.handle, name, 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK, let header else {
            return nil
        }
        return String(cString: header.pointee.value)
    }

    /// All fields of the answer's header. It allocates memory, so it is for requests that are traced.
    public var fields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        var header: UnsafeMutablePointer<curl_header>?
        while let next = curl_easy_nextheader(easy.handle, UInt32(CURLH_HEADER), -1, header) {
            fields.append((String(cString: next.pointee.name), String(cString: next.pointee.value)))
            header = next
        }
        return fields
    }

    func result(_ code: CURLcode) -> TransferResult {
        let status = easy.long(CURLINFO_RESPONSE_CODE)
        return TransferResult(
            fault: TransferFault(code), status: status,
            isHTTP2: status == 0 || easy.long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0),
            wasSent: starts > 0, wasDeclaredUnprocessed: wasDeclaredUnprocessed, streamsAtRefusal: streamsAtRefusal,
            hasUnsentBody: status == 0 && starts > 0 && easy.offset(CURLINFO_SIZE_UPLOAD_T) < (body?.count ?? 0))
    }

    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        let kept = min(bytes.count, answer.count - answerLength)
        UnsafeMutableRawBufferPointer(rebasing: answer[answerLength...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<kept]))
        answerLength += kept
        return bytes.count
    }

    fileprivate func didStart() {
        starts += 1
        connection.didStart(isFirst: starts == 1)
    }

    /// Opens a socket; nil refuses it. A connection that has carried a request gets no second socket. libcurl would
    /// send requests there that did not fit on the first, although APNs allows one stream, and would repeat requests
    /// whose fate is unknown. Instead the transfer fails ("could not connect"), and its owner decides.
    fileprivate func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t? {
        guard connection.startedRequests == 0 else {
            // libcurl retries two kinds of requests here. If the server refused one as unprocessed, libcurl has written
            // no error text. If its connection broke, libcurl has (7.88.1: http2_handle_stream_close and cf_h2_recv,
            // then Curl_retry_request).
            wasDeclaredUnprocessed = starts > 0 && easy.errorBuffer.pointee == 0
            streamsAtRefusal = connection.streamsInUse
            return nil
        }
        return connection.openSocket(address.pointee)
    }
}

// These callbacks run on the connection's thread, inside `curl_multi_perform`. The context is the transfer, which the
// connection holds until it has removed it from the multi. For the end of a socket, the context is the connection.

private func transfer(_ context: UnsafeMutableRawPointer) -> PreparedTransfer {
    Unmanaged<PreparedTransfer>.fromOpaque(context).takeUnretainedValue()
}

private func receiveAnswer(
    _ bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    context.map { transfer($0).receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) } ?? 0
}

private func noteStart(
    _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?, _: UnsafeMutablePointer<CChar>?, _: Int32,
    _: Int32
) -> Int32 {
    context.map { transfer($0).didStart() }
    return Int32(CURL_PREREQFUNC_OK)
}

private func provideSocket(
    _ context: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context, let address else { return ccurl_socket_bad() }
    return transfer(context).openSocket(address) ?? ccurl_socket_bad()
}

private func releaseSocket(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
    context.map { Unmanaged<MultiplexedConnection>.fromOpaque($0).takeUnretainedValue().closeSocket(socket) }
    return 0
}

/// Where a connection goes, and the settings that its requests share.
public struct ServerAddress: Sendable, Hashable {
    /// `https://host[:port]`
    public var origin: String
    /// PEM file of the root certificates; nil: the system's.
    public var caFile: String?
    /// The time for each request, from when it is handed to libcurl; also the time for making the connection.
    public var requestTimeoutMilliseconds: Int

    public init(origin: String, caFile: String?, requestTimeoutMilliseconds: Int) {
        self.origin = origin
        self.caFile = caFile
        self.requestTimeoutMilliseconds = requestTimeoutMilliseconds
    }
}

public struct TransferResult: Sendable, Hashable {
    /// The fault that libcurl reports. Nil: it reports success. There may be a fault and a `status`, if the answer's
    /// head came before the fault.
    public var fault: TransferFault?
    /// The HTTP status; 0 if no answer's head has come.
    public var status: Int
    public var isHTTP2 = true
    /// The request began on an established connection, so bytes of it may have left this machine.
    public var wasSent = true
    /// The request was sent, and then declared unprocessed (REFUSED_STREAM, or a GOAWAY below its stream).
    public var wasDeclaredUnprocessed = false
    /// The streams in use when the connection accepted no more requests.
    public var streamsAtRefusal: Int?
    /// The request had been sent, and a part of its body was not: the server's flow control held it back.
    public var hasUnsentBody = false
}
