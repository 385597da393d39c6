import Answers
import HTTPTypes
import Hummingbird
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
    private enum Body: Sendable {
        case value(any AnswerBody)
        case bytes([UInt8])
    }

    let status: Int
    private var content: Body
    /// The type of the body, which the endpoint's row names. Nil: there is no type for it.
    private(set) var form: (any AnswerBody.Type)?
    /// The media type. Nil: the endpoint's.
    private var type: String?
    var fields: [(HTTPField.Name, String)] = []
    /// Parts of the request that may not do what the sender expects. The log shows them to an operator too.
    private(set) var warnings: [String] = []
    /// Ids of the pushes that the call made. The log shows the first of them, so that a line of a worker leads here.
    var pushes: [String] = []

    /// The subjects of the call for the log of actions, beside the subjects that its path names.
    var subjects: [Action.Subject: String] = [:]
    /// The action of the call, if it is not its endpoint's.
    private(set) var acted: ActionKind?
    /// How many pushes, channels … the call was about.
    var count = 1
    /// The call only looked, so the log of actions does not have it.
    var changedNothing = false

    init<Value: AnswerBody>(_ status: Int, _ body: Value) {
        (self.status, content, form) = (status, .value(body), Value.self)
    }

    /// - Parameters:
    ///   - warnings: are shown to the caller and logged.
    ///   - hints: warnings that hold names of activities. They are shown to the caller, but the log must not hold them.
    init(_ status: Int, _ body: some WarnedAnswer, warnings: [String], hints: [String] = []) {
        var body = body
        let all = warnings + hints
        if !all.isEmpty {
            let isCut = all.count > Self.maximumWarnings
            body.warned = AnswerWarnings(Array(all.prefix(Self.maximumWarnings)), count: isCut ? all.count : nil)
        }
        self.init(status, body)
        self.warnings = Array(warnings.prefix(Self.maximumWarnings))
    }

    /// A body that is JSON already.
    init(_ status: Int, json: [UInt8]) { (self.status, content) = (status, .bytes(json)) }

    /// The bytes of the body. A value is written each time that they are asked for.
    var body: [UInt8] {
        switch content {
        case .value(let value): value.answerJSON.bytes
        case .bytes(let bytes): bytes
        }
    }

    /// The body, for a caller in this process. Nil: it is no value of a type.
    var value: (any AnswerBody)? { if case .value(let value) = content { value } else { nil } }

    /// The same answer, whose body is written once for everyone who asks for its bytes.
    var written: Answer {
        var answer = self
        answer.content = .bytes(body)
        return answer
    }

    /// The 304 for a caller that has this answer already. Nil: the answer has no tag, or another one.
    func unchanged(for headers: HTTPFields) -> Answer? {
        guard status == 200, headers.hold(fields.first { $0.0 == .eTag }?.1) else { return nil }
        var answer = Answer(304, text: "")
        answer.fields = fields
        return answer
    }

    /// The same answer of a call that was about other things than its path names.
    /// - Parameter acted: what it did, if it is not what its endpoint says
    func about(_ subjects: [Action.Subject: String?], as acted: ActionKind? = nil, count: Int = 1) -> Answer {
        var answer = self
        answer.acted = acted
        answer.subjects = subjects.compactMapValues(\.self)
        answer.count = count
        return answer
    }

    init(_ status: Int, text: String, type: String? = nil) {
        (self.status, content, self.type) = (status, .bytes(Array(text.utf8)), type)
    }

    static let empty = Answer(204, text: "")

    /// - Parameter headers: of the request, if it may have a credential.
    init(_ error: APIError, operation: String, to headers: HTTPFields = [:]) {
        self.init(error.status, json: error.body(operation: operation).bytes)
        if let seconds = error.retryAfter { fields.append((.retryAfter, "\(seconds)")) }
        // RFC 6750. A client that is asked for a password in place of its token may wait for one for ever, as
        // Foundation on Linux does.
        let scheme =
            headers.areBearer ? #"Bearer realm="lamplighter", error="invalid_token""# : #"Basic realm="lamplighter""#
        if error.status == 401 { fields.append((.wwwAuthenticate, scheme)) }
        if !error.allow.isEmpty { fields.append((.allow, error.allow.joined(separator: ", "))) }
    }

    func response(_ endpointType: String = jsonType) -> Response {
        let body = body
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

/// The body of an answer with success.
struct AnswerForm: Sendable {
    let status: Int
    /// The type of the body. Nil: there is no body, or no type describes it.
    let body: (any AnswerBody.Type)?

    static func status(_ status: Int, _ body: any AnswerBody.Type) -> AnswerForm {
        AnswerForm(status: status, body: body)
    }

    static func ok(_ body: any AnswerBody.Type) -> AnswerForm { status(200, body) }

    static let empty = AnswerForm(status: 204, body: nil)

    /// A body that others wrote, or that is no JSON. `calls.json` describes it.
    static let raw = AnswerForm(status: 200, body: nil)
}
