internal import CCurl

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
