package import LiveActivity

/// Channels in their stored form, in one buffer: a page's channels need no array each.
package struct ChannelList {
    private let bytes: [UInt8]
    private var ranges: [Range<Int>]

    package init(_ channels: [[UInt8]]) {
        bytes = Array(channels.joined())
        var end = 0
        ranges = channels.map { channel in
            defer { end += channel.count }
            return end..<end + channel.count
        }
    }

    package init(_ page: TokenPage) { (bytes, ranges) = (page.bytes, page.entries.map(\.channelRange)) }

    package var count: Int { ranges.count }
    package var indices: Range<Int> { ranges.indices }
    package subscript(index: Int) -> ArraySlice<UInt8> { bytes[ranges[index]] }

    /// Some of the channels, in this order.
    package func part(_ indices: [Int]) -> ChannelList {
        var part = self
        part.ranges = indices.map { ranges[$0] }
        return part
    }

    /// The bytes are valid during the call.
    package func withBytes<Value>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[ranges[index]])) }
    }
}
