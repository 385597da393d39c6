internal import NIOCore

extension ByteBuffer {
    mutating func writeFrameHeader(_ type: FrameType, length: Int, flags: UInt8 = 0, stream: UInt32 = 0) {
        writeMultipleIntegers(UInt16(length >> 8), UInt8(length & 0xff), type.rawValue, flags, stream)
    }

    mutating func writeSettings(_ settings: [(id: UInt16, value: UInt32)]) {
        writeFrameHeader(.settings, length: settings.count * 6)
        for (id, value) in settings { writeMultipleIntegers(id, value) }
    }

    mutating func writeReset(_ code: HTTP2ErrorCode, stream: UInt32) {
        writeFrameHeader(.rstStream, length: 4, stream: stream)
        writeInteger(code.rawValue)
    }

    mutating func writeWindowUpdate(_ increment: Int, stream: UInt32) {
        writeFrameHeader(.windowUpdate, length: 4, stream: stream)
        writeInteger(UInt32(increment))
    }

    mutating func writeGoaway(lastStream: UInt32, _ code: HTTP2ErrorCode, text: String) {
        writeFrameHeader(.goaway, length: 8 + text.utf8.count)
        writeMultipleIntegers(lastStream, code.rawValue)
        writeString(text)
    }

    /// Writes `:status`, the id if there is one, and `fields`, without Huffman coding or a change to HPACK's table
    /// (RFC 7541, 6.2.2).
    /// - Parameter fields: each name and value must be shorter than 127 bytes. Nearly all responses have none.
    mutating func writeAnswerHeaders(
        status: Int, id: MessageID?, idName: StaticString = "apns-id", fields: [(name: String, value: String)] = [],
        endStream: Bool, stream: UInt32
    ) {
        let indexed: UInt8? =
            switch status {
            case 200: 0x88
            case 400: 0x8c
            case 404: 0x8d
            case 500: 0x8e
            default: nil
            }
        var length = (indexed == nil ? 5 : 1) + (id == nil ? 0 : 2 + idName.utf8CodeUnitCount + 37)
        for (name, value) in fields {
            precondition(name.utf8.count < 127 && value.utf8.count < 127)
            length += 3 + name.utf8.count + value.utf8.count
        }
        let flags = FrameFlags.endHeaders | (endStream ? FrameFlags.endStream : 0)
        writeFrameHeader(.headers, length: length, flags: flags, stream: stream)
        if let indexed {
            writeInteger(indexed)
        } else {
            // A literal without indexing. Its name is entry 8 of the static table (`:status`).
            writeMultipleIntegers(UInt8(0x08), UInt8(3))
            writeMultipleIntegers(UInt8(0x30 + status / 100), UInt8(0x30 + status / 10 % 10), UInt8(0x30 + status % 10))
        }
        if let id {
            writeMultipleIntegers(UInt8(0x00), UInt8(idName.utf8CodeUnitCount))
            writeStaticString(idName)
            writeInteger(UInt8(36))
            writeWithUnsafeMutableBytes(minimumWritableBytes: 36) { bytes in
                var position = 0
                id.write {
                    bytes[position] = $0
                    position += 1
                }
                return position
            }
        }
        for (name, value) in fields {
            writeMultipleIntegers(UInt8(0x00), UInt8(name.utf8.count))
            writeString(name)
            writeInteger(UInt8(value.utf8.count))
            writeString(value)
        }
    }
}
