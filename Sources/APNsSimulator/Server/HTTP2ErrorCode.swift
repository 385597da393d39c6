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
