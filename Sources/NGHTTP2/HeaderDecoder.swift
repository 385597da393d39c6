internal import CNGHTTP2

/// Decodes the header blocks of one HTTP/2 connection (HPACK, RFC 7541). Blocks share a table, so decode each one, in
/// order, and none after an error. It belongs to the thread of its connection.
public final class HeaderDecoder {
    private let inflater: OpaquePointer

    public init() {
        var inflater: OpaquePointer?
        guard nghttp2_hd_inflate_new(&inflater) == 0, let inflater else { fatalError("out of memory") }
        self.inflater = inflater
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    /// Decodes one block.
    /// - Parameter limit: the most bytes of all fields; each counts 32 more than its name and value (RFC 9113, 6.5.2)
    public func decode(
        _ block: UnsafeRawBufferPointer, limit: Int
    ) throws(NGHTTP2Error) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        var bytes = 0
        var rest = block.bindMemory(to: UInt8.self)[...]
        while true {
            var field = nghttp2_nv()
            var flags: Int32 = 0
            let start = UnsafeBufferPointer(rebasing: rest).baseAddress
            let count = nghttp2_hd_inflate_hd2(inflater, &field, &flags, start, rest.count, 1)
            guard count >= 0 else { throw NGHTTP2Error("hd_inflate_hd2", Int32(count)) }
            rest = rest.dropFirst(count)
            let goesOn = Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue | NGHTTP2_HD_INFLATE_FINAL.rawValue)
            guard count > 0 || flags & goesOn != 0 else {
                throw NGHTTP2Error("hd_inflate_hd2", NGHTTP2_ERR_HEADER_COMP.rawValue)
            }
            if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                bytes += field.namelen + field.valuelen + 32
                guard bytes <= limit else { throw NGHTTP2Error("hd_inflate_hd2", NGHTTP2_ERR_HEADER_COMP.rawValue) }
                fields.append(
                    (
                        String(decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self),
                        String(decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen), as: UTF8.self)
                    ))
            }
            if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                nghttp2_hd_inflate_end_headers(inflater)
                return fields
            }
        }
    }
}
