import HTTPTypes
import Hummingbird
import HummingbirdCore
import LiveActivity
import NIOCore

extension HTTPServerBuilder {
    /// HTTP/1.1 that answers `Expect: 100-continue`, which curl sends before a large body and otherwise waits a second for.
    /// A body that will be refused for its announced size is not asked for.
    static func http1(maximumBodyBytes: Int, configuration: HTTP1Channel.Configuration) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            HTTP1Channel(
                responder: { request, writer, channel in
                    if request.expectsContinue(maximumBodyBytes: maximumBodyBytes) {
                        try await writer.writeInformationalHead(HTTPResponse(status: .continue))
                    }
                    try await responder(request, writer, channel)
                }, configuration: configuration)
        }
    }
}

extension Request {
    fileprivate func expectsContinue(maximumBodyBytes: Int) -> Bool {
        guard headers[.expect]?.lowercased() == "100-continue" else { return false }
        let announced = headers[.contentLength].flatMap { Int($0) } ?? 0
        let path = head.path ?? ""
        let match = RouteMatch(method: method.rawValue, path: path.cut(at: UInt8(ascii: "?"))?.head[...] ?? path[...])
        let isStreamed = match.endpoint.map { [.bulkTrack, .bulkStartTokens].contains($0.operation) } ?? false
        return announced <= maximumBodyBytes || isStreamed
    }
}
