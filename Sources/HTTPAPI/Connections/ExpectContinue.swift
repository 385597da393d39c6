import HTTPTypes
import Hummingbird
import LiveActivity

extension Request {
    /// Whether to send 100 Continue. It is not sent for a body that will be refused because of its announced size.
    func expectsContinue(maximumBodyBytes: Int) -> Bool {
        guard headers[.expect]?.lowercased() == "100-continue" else { return false }
        let announced = headers[.contentLength].flatMap { Int($0) } ?? 0
        let path = head.path ?? ""
        let match = RouteMatch(method: method.rawValue, path: path.cut(at: UInt8(ascii: "?"))?.head[...] ?? path[...])
        return announced <= maximumBodyBytes || match.endpoint?.body == .streamed
    }
}
