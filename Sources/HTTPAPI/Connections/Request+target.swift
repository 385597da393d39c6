import Hummingbird
import LiveActivity

extension Request {
    /// Path and query, still encoded.
    var target: (path: Substring, query: Substring) {
        let text = head.path ?? "/"
        let parts = text.cut(at: UInt8(ascii: "?"))
        return (parts?.head[...] ?? text[...], parts?.tail[...] ?? "")
    }
}
