internal import CCurl

/// libcurl needs one global initialisation before its first handle, and before other threads use it.
enum CurlLibrary {
    private static let initialised: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    static func prepare() throws(CurlError) { if !initialised { throw CurlError("curl_global_init") } }
}
