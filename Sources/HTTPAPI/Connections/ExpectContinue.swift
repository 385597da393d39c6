import HTTPTypes
import Hummingbird
import LiveActivity

extension Request {
    /// Whether to send 100 Continue. It is not sent for a body that will be refused because of its announced size.
    func expectsContinue(maximumBodyBytes: Int) -> Bool {
        guard headers[.expect]?.lowercased() == "100-continue" else { return false }
        let announced = headers[.contentLength].flatMap { Int($0) } ?? 0
        let match = RouteMatch(method: method.rawValue, path: target.path)
        return announced <= maximumBodyBytes || match.endpoint?.body == .streamed
    }

    /// Path and query, still encoded.
    var target: (path: Substring, query: Substring) {
        let text = head.path ?? "/"
        let parts = text.cut(at: UInt8(ascii: "?"))
        return (parts?.head[...] ?? text[...], parts?.tail[...] ?? "")
    }
}
