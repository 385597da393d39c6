import HTTPTypes
import Hummingbird
import LiveActivity
import NIOCore
import Store
import StrictJSON

/// The response to a call, before it goes on the wire.
struct Answer: Sendable {
    static let airshipType = "application/vnd.urbanairship+json; version=3"
    static let jsonType = "application/json"
    static let prometheusType = "text/plain; version=0.0.4; charset=utf-8"
    /// The most warnings that are shown. The rest are only counted.
    static let maximumWarnings = 100
    let status: Int
    let body: [UInt8]
    /// The media type. Nil stands for the one of the endpoint.
    private var type: String?
    var fields: [(HTTPField.Name, String)] = []
    /// Parts of the request that may not do what the sender expects. The log shows them to an operator too.
    private(set) var warnings: [String] = []
    /// Ids of the pushes that the call made. The log shows the first of them, so that a line of a worker leads here.
    var pushes: [String] = []

    /// The subjects of the call for the log of actions, beside those that its path names.
    var subjects: [Action.Subject: String] = [:]
    /// How many pushes, channels … the call was about.
    var count = 1

    /// - Parameters:
    ///   - body: gets the member `warnings` if there are any, and `warning_count` if not all of them are shown.
    ///   - warnings: are shown to the caller and logged.
    ///   - hints: warnings that hold names of activities. They are shown to the caller, but the log must not hold them.
    init(_ status: Int, _ body: JSON, warnings: [String] = [], hints: [String] = []) {
        var body = body
        let all = warnings + hints
        let shown = all.prefix(Self.maximumWarnings)
        if !shown.isEmpty { body.append("warnings", .array(shown.map(JSON.string))) }
        if all.count > shown.count { body.append("warning_count", .integer(all.count)) }
        self.status = status
        self.body = body.bytes
        self.warnings = Array(warnings.prefix(Self.maximumWarnings))
    }

    /// The 304 for a caller that has this answer already. Nil: the answer has no tag, or another one.
    func unchanged(for headers: HTTPFields) -> Answer? {
        guard status == 200, let tag = fields.first(where: { $0.0 == .eTag })?.1,
            let known = headers[.ifNoneMatch],
            known.parts(between: UInt8(ascii: ",")).contains(where: { [tag, "W/" + tag].contains($0.trimmed) })
        else { return nil }
        var answer = Answer(304, text: "")
        answer.fields = fields
        return answer
    }

    /// The same answer of a call that was about other things than its path names.
    func about(_ subjects: [Action.Subject: String?], count: Int = 1) -> Answer {
        var answer = self
        answer.subjects = subjects.compactMapValues(\.self)
        answer.count = count
        return answer
    }

    /// A page of a list. A full page may be the last one, and the next page is empty then.
    init(page body: JSON, isFull: Bool, last: String?) {
        var body = body
        if isFull, let last { body.append("next", .string(last)) }
        self.init(200, body)
    }

    init(_ status: Int, text: String, type: String? = nil) {
        self.status = status
        body = Array(text.utf8)
        self.type = type
    }

    static let empty = Answer(204, text: "")

    init(_ error: APIError, operation: String) {
        self.init(error.status, error.body(operation: operation))
        if let seconds = error.retryAfter { fields.append((.retryAfter, "\(seconds)")) }
        if error.status == 401 { fields.append((.wwwAuthenticate, #"Basic realm="lamplighter""#)) }
        if !error.allow.isEmpty { fields.append((.allow, error.allow.joined(separator: ", "))) }
    }

    func response(_ endpointType: String = jsonType) -> Response {
        var headers = HTTPFields()
        if !body.isEmpty { headers[.contentType] = type ?? endpointType }
        // Caches must not keep responses, because each one is for one moment and one caller.
        headers[.cacheControl] = "no-store"
        for (name, value) in fields { headers[name] = value }
        let status = HTTPResponse.Status(code: status)
        guard !body.isEmpty else { return Response(status: status, headers: headers) }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
