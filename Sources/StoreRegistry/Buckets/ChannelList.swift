package import LiveActivity

/// Channels in their stored form, in one buffer: a page's channels need no array each.
package struct ChannelList {
    private let bytes: [UInt8]
    private let ranges: [Range<Int>]

    package init(_ channels: [[UInt8]]) {
        bytes = Array(channels.joined())
        var end = 0
        ranges = channels.map { channel in
            defer { end += channel.count }
            return end..<end + channel.count
        }
    }

    /// The channels of some entries of a page.
    package init(_ page: TokenPage, _ indices: [Int]) {
        (bytes, ranges) = (page.bytes, indices.map { page.entries[$0].channelRange })
    }

    package var indices: Range<Int> { ranges.indices }
    package subscript(index: Int) -> ArraySlice<UInt8> { bytes[ranges[index]] }

    /// The bytes are valid during the call.
    package func withBytes<Value>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[ranges[index]])) }
    }
}
