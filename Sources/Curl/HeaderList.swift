internal import CCurl

/// Request headers in libcurl's form: a list that transfers of one thread share. The last of them frees it.
public final class HeaderList {
    let list: UnsafeMutablePointer<curl_slist>?

    /// libcurl's own `Accept`, `Content-Type` and `Expect` are left out unless given here.
    /// - Throws: for a field that is not `isSafe`
    public init(_ fields: [(name: String, value: String)]) throws(CurlError) {
        for field in fields where !Self.isSafe(name: field.name, value: field.value) {
            let text = "the header has a character that headers cannot hold (43)"
            throw CurlError("curl_slist_append(\(field.name.debugDescription))", text)
        }
        var list: UnsafeMutablePointer<curl_slist>?
        // "Name:" without a value removes a header of libcurl's own; "Name;" sends one with an empty value.
        var lines = ["Accept:", "Content-Type:", "Expect:"].filter { removal in
            !fields.contains { $0.name.lowercased() + ":" == removal.lowercased() }
        }
        lines += fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                throw CurlError("curl_slist_append")
            }
            list = longer
        }
        self.list = list
    }

    deinit { curl_slist_free_all(list) }

    /// Whether a header can be sent as it is. A line break in it would begin another header.
    public static func isSafe(name: String, value: String) -> Bool {
        let token = name.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ";")
        }
        return token && !name.isEmpty && !value.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
    }
}
