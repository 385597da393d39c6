internal import Curl
import Delivery
internal import NGHTTP2

/// The meaning of an ended transfer or stream for its request, from libcurl's or nghttp2's result alone.
enum RequestFate: Hashable {
    /// The server answered. `LanePlatform.rejection` reads the reason. An answer counts even if the transfer failed
    /// after its head.
    case answered(status: Int)
    /// The request was not sent, or was declared unprocessed, so it is safe to send again at once.
    case unprocessed
    /// The connection could not be made; nothing was sent.
    case unconnected(NoAnswer.Cause)
    /// The request was sent, and there is no answer.
    case unknown(NoAnswer.Cause)

    /// - Parameter isEstablished: the connection has carried a request, this one or an earlier one
    init(_ result: TransferResult, isEstablished: Bool) {
        if !result.isHTTP2 {
            self = .unconnected(.connectionFailed)
        } else if result.status >= 200 {
            self = .answered(status: result.status)
        } else if result.wasDeclaredUnprocessed || (!result.wasSent && isEstablished) {
            self = .unprocessed
        } else if result.wasSent {
            self = .unknown(result.fault == .timeout ? .timeout : .connectionLost)
        } else {
            let fault = result.fault
            self = .unconnected(fault == .tls ? .tls : fault == .timeout ? .timeout : .connectionFailed)
        }
    }

    init(_ ended: EndedStream) {
        self =
            switch ended.end {
            // An answer counts once its status was read, whatever came after that.
            case _ where ended.status >= 200: .answered(status: ended.status)
            case .unprocessed: .unprocessed
            case .late: .unknown(.timeout)
            case .complete, .reset, .lost: .unknown(.connectionLost)
            }
    }

    /// Whether the connection gets no more requests, because it went silent, broke, or was told to go away.
    static func retiresConnection(_ result: TransferResult) -> Bool {
        guard result.isHTTP2, result.status < 200 else { return !result.isHTTP2 }
        return result.wasDeclaredUnprocessed || (result.wasSent && result.fault != .streamReset)
    }
}
