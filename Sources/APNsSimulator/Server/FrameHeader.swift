internal import NIOCore

/// HTTP/2 frames (RFC 9113, 6) as bytes. The simulator has its own implementation so that SETTINGS, GOAWAY, RST_STREAM
/// and silence happen exactly when a fault asks for them. It also makes a response very cheap.
enum FrameType: UInt8 {
    case data = 0
    case headers = 1
    case priority = 2
    case rstStream = 3
    case settings = 4
    case pushPromise = 5
    case ping = 6
    case goaway = 7
    case windowUpdate = 8
    case continuation = 9
}

enum FrameFlags {
    static let endStream: UInt8 = 0x1
    static let acknowledgement: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    static let padded: UInt8 = 0x8
    static let priority: UInt8 = 0x20
}

enum SettingID {
    static let maximumConcurrentStreams: UInt16 = 3
    static let initialWindowSize: UInt16 = 4
    static let maximumFrameSize: UInt16 = 5
    static let maximumHeaderListSize: UInt16 = 6
}

enum HTTP2ErrorCode: UInt32, Error {
    case noError = 0
    case protocolError = 1
    case internalError = 2
    case flowControlError = 3
    case streamClosed = 5
    case frameSizeError = 6
    case refusedStream = 7
    case cancel = 8
    case compressionError = 9
    case enhanceYourCalm = 11
}

struct FrameHeader {
    static let size = 9
    /// The initial value of SETTINGS_MAX_FRAME_SIZE. The simulator never raises it.
    static let maximumPayload = 16_384

    var length: Int
    /// The frame's type. Nil for an unknown type, which must be ignored.
    var type: FrameType?
    var flags: UInt8
    var stream: UInt32

    /// Reads a header and moves the reader behind it. Nil until nine bytes are there.
    init?(_ buffer: inout ByteBuffer) {
        guard
            let (high, low, type, flags, stream) = buffer.readMultipleIntegers(
                as: (UInt16, UInt8, UInt8, UInt8, UInt32).self)
        else { return nil }
        length = Int(high) << 8 | Int(low)
        self.type = FrameType(rawValue: type)
        self.flags = flags
        self.stream = stream & 0x7fff_ffff
    }

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
}
