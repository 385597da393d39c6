internal import APNsWire
internal import Curl
internal import NGHTTP2

/// What the end of a transfer or stream means for its request. A pure reading of libcurl's and of nghttp2's results.
enum RequestFate: Hashable {
    /// APNs answered; the body says the rest. An answer counts even when the transfer failed after its head.
    case answered(status: Int)
    /// It has not been sent, or was declared unprocessed: safe to send again at once.
    case unprocessed
    /// The connection could not be made; nothing was sent.
    case unconnected(NoAnswer.Cause)
    /// It was sent, and there is no answer.
    case unknown(NoAnswer.Cause)

    /// `isEstablished`: the connection has carried a request, this one or one before.
    init(_ result: TransferResult, isEstablished: Bool) {
        guard result.isHTTP2 else {
            self = .unconnected(.connectionFailed)
            return
        }
        if result.status >= 200 {
            self = .answered(status: result.status)
        } else if result.wasDeclaredUnprocessed || (!result.wasSent && isEstablished) {
            self = .unprocessed
        } else if result.wasSent {
            self = .unknown(result.fault == .timeout ? .timeout : .connectionLost)
        } else {
            self =
                switch result.fault {
                case .tls: .unconnected(.tls)
                case .timeout: .unconnected(.timeout)
                default: .unconnected(.connectionFailed)
                }
        }
    }

    init(_ ended: EndedStream) {
        // An answer whose status was read counts, whatever came after it.
        if ended.status >= 200 {
            self = .answered(status: ended.status)
            return
        }
        self =
            switch ended.end {
            case .unprocessed: .unprocessed
            case .late: .unknown(.timeout)
            case .complete, .reset, .lost: .unknown(.connectionLost)
            }
    }

    /// Whether the connection is given no more requests: it went silent, broke, or was told to go away.
    static func retiresConnection(_ result: TransferResult) -> Bool {
        guard result.isHTTP2, result.status < 200 else { return !result.isHTTP2 }
        return result.wasDeclaredUnprocessed || (result.wasSent && result.fault != .streamReset)
    }
}
