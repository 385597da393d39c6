internal import CCurl

/// Owns one easy handle and the memory that libcurl keeps pointers to for it. One thread at a time uses it. Order of
/// destruction: first the handle, then the error buffer. If the handle is in a multi, its owner first removes it there.
/// The owner also keeps header lists and bodies alive until then.
final class EasyHandle {
    let handle: UnsafeMutableRawPointer
    /// libcurl's error text on the first failure of the current transfer; empty (first byte 0) if there is none.
    let errorBuffer: UnsafeMutablePointer<CChar>

    init() throws(CurlError) {
        try CurlLibrary.prepare()
        guard let handle = curl_easy_init() else { throw CurlError("curl_easy_init") }
        self.handle = handle
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try set(CURLOPT_ERRORBUFFER, pointer: errorBuffer)
    }

    deinit {
        curl_easy_cleanup(handle)
        errorBuffer.deallocate()
    }

    func set(_ option: CURLoption, _ value: Int) throws(CurlError) {
        try Self.check(ccurl_easy_set_long(handle, option, value), option)
    }

    func set(_ option: CURLoption, offset value: Int) throws(CurlError) {
        try Self.check(ccurl_easy_set_offset(handle, option, curl_off_t(value)), option)
    }

    /// libcurl copies the string.
    func set(_ option: CURLoption, _ value: String) throws(CurlError) {
        try Self.check(ccurl_easy_set_string(handle, option, value), option)
    }

    /// libcurl keeps the pointer.
    func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) throws(CurlError) {
        try Self.check(ccurl_easy_set_pointer(handle, option, pointer), option)
    }

    /// libcurl keeps the pointer, so the list must outlive the transfer.
    func set(headers: HeaderList) throws(CurlError) {
        try Self.check(ccurl_easy_set_list(handle, CURLOPT_HTTPHEADER, headers.list), CURLOPT_HTTPHEADER)
    }

    /// The options of every transfer: TLS 1.2 or later, checked certificate and name, http and https only, no
    /// redirects, no signals (other threads exist). No proxy: `https_proxy` must not send provider tokens elsewhere.
    func setCommon(caFile: String?) throws(CurlError) {
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NOPROXY, "*")
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        if let caFile { try set(CURLOPT_CAINFO, caFile) }
        try set(CURLOPT_TCP_KEEPALIVE, 1)
    }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        return ccurl_easy_get_long(handle, info, &value) == CURLE_OK ? value : 0
    }

    func offset(_ info: CURLINFO) -> Int {
        var value: curl_off_t = 0
        return ccurl_easy_get_offset(handle, info, &value) == CURLE_OK ? Int(value) : 0
    }

    /// libcurl's error text on how the transfer ended.
    func message(on code: CURLcode) -> String {
        let own = String(cString: errorBuffer)
        return own.isEmpty ? String(cString: curl_easy_strerror(code)) : own
    }

    static func check(_ code: CURLcode, _ option: CURLoption) throws(CurlError) {
        guard code != CURLE_OK else { return }
        throw CurlError("curl_easy_setopt(\(option.rawValue))", code: code.rawValue, curl_easy_strerror(code))
    }
}

/// libcurl needs one global initialisation before its first handle, and before other threads use it.
public enum CurlLibrary {
    /// The loaded library's version.
    public static let version: (text: String, number: Int) = {
        guard let info = ccurl_version_info() else { return ("?", 0) }
        return (String(cString: info.pointee.version), Int(info.pointee.version_num))
    }()
    /// Older versions send RST_STREAM after each finished transfer. Some servers then close the connection.
    public static let resetsFinishedStreams = version.number < 0x08_0E_00

    private static let initialised: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    static func prepare() throws(CurlError) { if !initialised { throw CurlError("curl_global_init") } }
}
