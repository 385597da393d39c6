internal import CCurl
internal import Glibc
internal import Synchronization

/// One exchange. The caller makes it and runs it once, on a thread of its own. Only this thread touches the parts that
/// are not `Sendable`.
final class HTTPExchange: Sendable {
    private let request: HTTPRequest
    private let maximumBody: Int
    private let isCancelled = Atomic(false)

    init(_ request: HTTPRequest, maximumBody: Int) {
        self.request = request
        self.maximumBody = maximumBody
    }

    /// Callable from any thread. libcurl notices at its next progress call: within a second, sooner when bytes move.
    func cancel() { isCancelled.store(true, ordering: .relaxed) }

    /// Blocks until the exchange has ended.
    func run() -> Result<HTTPResponse, HTTPFailure> {
        do {
            return try exchange()
        } catch {
            return failure(.other, "\(error)")
        }
    }

    private func exchange() throws(CurlError) -> Result<HTTPResponse, HTTPFailure> {
        let state = ExchangeState(maximumBody: maximumBody, isCancelled: { self.isCancelled.load(ordering: .relaxed) })
        let headers = try HeaderList(request.headers.map { (name: $0.0, value: $0.1) })
        let easy = try EasyHandle()
        try easy.setCommon(caFile: request.caFile)
        try easy.set(CURLOPT_URL, request.url)
        try easy.set(headers: headers)
        try easy.set(CURLOPT_USERAGENT, "lamplighter")
        try easy.set(CURLOPT_TIMEOUT_MS, max(1, Int(request.timeout / .milliseconds(1))))
        let version = request.requiresHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
        try easy.set(CURLOPT_HTTP_VERSION, Int(version))
        try state.attach(to: easy)
        if request.refusesPrivateAddresses { try state.checkAddresses(of: easy) }
        try setBody(easy, state)
        let code = curl_easy_perform(easy.handle)
        return withExtendedLifetime(headers) { conclude(code, easy, state) }
    }

    private func setBody(_ easy: EasyHandle, _ state: ExchangeState) throws(CurlError) {
        switch request.body {
        case nil: if request.method == "HEAD" { try easy.set(CURLOPT_NOBODY, 1) }
        case .bytes(let bytes):
            try easy.set(CURLOPT_POST, 1)
            try easy.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: bytes.count)
            // libcurl copies the bytes. An empty body needs a pointer too: a null one asks for a read callback.
            let code = (bytes.isEmpty ? [0] : bytes).withUnsafeBytes {
                ccurl_easy_set_pointer(
                    easy.handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
            }
            try EasyHandle.check(code, CURLOPT_COPYPOSTFIELDS)
        case .stream(let next, let length):
            // An upload of unknown length is chunked in HTTP/1.1.
            try easy.set(CURLOPT_UPLOAD, 1)
            if let length { try easy.set(CURLOPT_INFILESIZE_LARGE, offset: length) }
            try state.attach(upload: next, to: easy)
        }
        try easy.set(CURLOPT_CUSTOMREQUEST, request.method)
    }

    private func conclude(
        _ code: CURLcode, _ easy: EasyHandle, _ state: ExchangeState
    ) -> Result<HTTPResponse, HTTPFailure> {
        let status = easy.long(CURLINFO_RESPONSE_CODE)
        if request.requiresHTTP2, status != 0, easy.long(CURLINFO_HTTP_VERSION) != Int(CURL_HTTP_VERSION_2_0) {
            return failure(.http2Unavailable, "the server does not speak HTTP/2")
        }
        guard let fault = TransferFault(code) else {
            return .success(HTTPResponse(status: status, headers: state.headers, body: state.body))
        }
        if let uploadFailure = state.uploadFailure { return failure(.other, "the upload failed: \(uploadFailure)") }
        if request.takesCutAnswers, state.hasHead, !isCancelled.load(ordering: .relaxed) {
            return .success(HTTPResponse(status: status, headers: state.headers, body: state.body))
        }
        if state.isTooLarge { return failure(.other, "the answer is longer than \(maximumBody) bytes") }
        if isCancelled.load(ordering: .relaxed) { return failure(.cancelled, "cancelled") }
        if let address = state.refusedAddress, fault == .unconnectable {
            return failure(.privateAddress(address), "the name leads to \(address), which is not a public address")
        }
        return failure(.transfer(fault), "\(easy.message(on: code)) (libcurl \(code.rawValue))")
    }

    private func failure(_ kind: HTTPFailure.Kind, _ message: String) -> Result<HTTPResponse, HTTPFailure> {
        .failure(
            HTTPFailure(kind: kind, description: "\(request.method) \(request.url): \(message)", reason: message))
    }
}

/// State that the callbacks of one exchange fill in, on its thread. `HTTPExchange.exchange` keeps the state alive.
private final class ExchangeState {
    var headers: [(String, String)] = []
    var body: [UInt8] = []
    var isTooLarge = false
    /// The head of the final answer is complete: no 1xx.
    private(set) var hasHead = false
    private var isFinal = false
    /// The last address that was refused.
    var refusedAddress: PeerAddress?
    private var headerBytes = 0
    var uploadFailure: String?
    let isCancelled: () -> Bool
    private let maximumBody: Int
    /// The most bytes of all header fields together. libcurl limits only a single one in older versions.
    private static let maximumHeaderBytes = 256 << 10
    private var upload: (@Sendable () throws -> [UInt8])?
    private var chunk: ArraySlice<UInt8> = []

    init(maximumBody: Int, isCancelled: @escaping () -> Bool) {
        self.maximumBody = maximumBody
        self.isCancelled = isCancelled
    }

    func attach(to easy: EasyHandle) throws(CurlError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try EasyHandle.check(
            ccurl_easy_set_data_callback(easy.handle, CURLOPT_WRITEFUNCTION, receiveBody), CURLOPT_WRITEFUNCTION)
        try easy.set(CURLOPT_WRITEDATA, pointer: context)
        try EasyHandle.check(
            ccurl_easy_set_data_callback(easy.handle, CURLOPT_HEADERFUNCTION, receiveHeader), CURLOPT_HEADERFUNCTION)
        try easy.set(CURLOPT_HEADERDATA, pointer: context)
        try EasyHandle.check(ccurl_easy_set_progress(easy.handle, reportProgress), CURLOPT_XFERINFOFUNCTION)
        try easy.set(CURLOPT_XFERINFODATA, pointer: context)
        try easy.set(CURLOPT_NOPROGRESS, 0)
    }

    func attach(upload: @escaping @Sendable () throws -> [UInt8], to easy: EasyHandle) throws(CurlError) {
        self.upload = upload
        try EasyHandle.check(
            ccurl_easy_set_data_callback(easy.handle, CURLOPT_READFUNCTION, provideUpload), CURLOPT_READFUNCTION)
        try easy.set(CURLOPT_READDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
    }

    func checkAddresses(of easy: EasyHandle) throws(CurlError) {
        try EasyHandle.check(ccurl_easy_set_opensocket(easy.handle, openCheckedSocket), CURLOPT_OPENSOCKETFUNCTION)
        try easy.set(CURLOPT_OPENSOCKETDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
    }

    /// Opens the socket for a connection to the very address that is given. Nil: it is not a public one.
    fileprivate func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t? {
        guard let place = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
        // libcurl reserves room for longer addresses behind `addr`, as `addrlen` says.
        let (plain, length) = (address.pointee, Int(address.pointee.addrlen))
        guard let peer = PeerAddress(UnsafeRawPointer(address) + place, length: length) else { return nil }
        guard peer.isPublic else {
            refusedAddress = peer
            return nil
        }
        let socket = Glibc.socket(plain.family, plain.socktype | Int32(SOCK_CLOEXEC.rawValue), plain.protocol)
        return socket >= 0 ? socket : nil
    }

    /// Takes a part of the answer's body, and returns how many bytes it took. Fewer than all of them end the transfer.
    func receive(body bytes: UnsafeRawBufferPointer) -> Int {
        guard body.count + bytes.count <= maximumBody else {
            isTooLarge = true
            body.append(contentsOf: bytes.prefix(max(0, maximumBody - body.count)))
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    /// Takes one header line with its CRLF. A status line drops earlier headers: it begins the answer after a 1xx.
    func receive(header bytes: UnsafeRawBufferPointer) -> Int {
        headerBytes += bytes.count
        guard headerBytes <= Self.maximumHeaderBytes else { return 0 }
        if bytes.starts(with: "HTTP/".utf8) {
            headers = []
            let code = bytes.drop { $0 != 0x20 }.drop { $0 == 0x20 }
            isFinal = code.first.map { $0 != UInt8(ascii: "1") } ?? false
        } else if bytes.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) {
            hasHead = isFinal
        } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
            let value = bytes[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
            let end = value.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? value.startIndex
            let name = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
            headers.append((name, String(decoding: value[..<end], as: UTF8.self)))
        }
        return bytes.count
    }

    /// Writes the next part of the upload. Returns the number of bytes; 0 at the end; nil if the source failed.
    func provide(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        if chunk.isEmpty, let next = upload {
            do {
                chunk = try next()[...]
            } catch {
                uploadFailure = "\(error)"
                return nil
            }
            if chunk.isEmpty { upload = nil }
        }
        let count = min(buffer.count, chunk.count)
        buffer.copyBytes(from: chunk.prefix(count))
        chunk.removeFirst(count)
        return count
    }
}

// These callbacks run inside `curl_easy_perform`, on the exchange's thread. Their context is its ExchangeState.

private func state(_ context: UnsafeMutableRawPointer?) -> ExchangeState? {
    context.map { Unmanaged<ExchangeState>.fromOpaque($0).takeUnretainedValue() }
}

private func openCheckedSocket(
    _ context: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let state = state(context), let address else { return ccurl_socket_bad() }
    return state.openSocket(address) ?? ccurl_socket_bad()
}

private func receiveBody(_ bytes: UnsafeMutablePointer<CChar>?, _: Int, count: Int, context: UnsafeMutableRawPointer?)
    -> Int
{
    state(context)?.receive(body: UnsafeRawBufferPointer(start: bytes, count: count)) ?? 0
}

private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    state(context)?.receive(header: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

private func provideUpload(
    _ bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    state(context)?.provide(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
        ?? Int(CURL_READFUNC_ABORT)
}

private func reportProgress(
    _ context: UnsafeMutableRawPointer?, _: curl_off_t, _: curl_off_t, _: curl_off_t, _: curl_off_t
) -> Int32 {
    state(context)?.isCancelled() == true ? 1 : 0
}
