import Answers
import HTTPTypes
import LiveActivity
import Store
import StrictJSON

/// A refusal as the caller sees it, in Airship's form. The message never holds a secret, a token or anything internal.
struct APIError: Error, Sendable, Hashable {
    struct Details: Sendable, Hashable {
        var error: String
        /// Empty when the error concerns the text as a whole.
        var path: String
        var location: JSONLocation?
    }

    var status: Int
    /// The status followed by two digits.
    var code: Int
    var message: String
    var details: Details?
    /// Seconds.
    var retryAfter: Int?
    /// The methods of the `Allow` header of a 405.
    var allow: [String] = []
    /// Further members of the response, such as the push ids that were accepted before the refusal.
    var extra: [JSON.Member] = []
    /// How many pushes or lines took effect before the call failed.
    var applied = 0
    /// Other names may be taken.
    var isOfName = false
    /// A caller without a secret has proved nothing. Its network has few more tries.
    var isFalseProof = false
    /// Goes to the log only.
    var cause: String?

    init(_ status: Int, _ message: String, code: Int? = nil, details: Details? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.code = code ?? status * 100
        self.message = message
        self.details = details
        self.retryAfter = retryAfter
    }

    /// A 400 for a value of the body.
    init(_ error: JSONError) {
        let subject = error.path.isEmpty ? "" : "\(error.path): "
        let details = Details(error: error.message, path: error.path, location: error.location)
        self.init(400, "\(subject)\(error.message)", details: details)
    }

    /// Any error of a handler, as the caller sees it: a refusal of ours, a wrong body, or a failure of the store.
    init(thrown error: any Error) {
        switch error {
        case let error as APIError: self = error
        case let error as JSONError: self.init(error)
        case let error as StoreError: self.init(error)
        default: self = .internalError("unexpected \(type(of: error))")
        }
    }

    /// The caller learns nothing about the cause, which goes to the log.
    static func internalError(_ cause: String) -> APIError {
        var error = APIError(500, "An internal error occurred; the operation id finds it in the log.")
        error.cause = cause
        return error
    }

    /// A 400 for something outside the body: a path component, a header, a query parameter.
    static func parameter(_ name: String, _ problem: String) -> APIError {
        APIError(400, "\(name): \(problem)", details: Details(error: problem, path: name, location: nil))
    }

    func body(operation: String) -> JSON {
        let details = details.map { details in
            ErrorDetailsAnswer(
                error: details.error, path: details.path.isEmpty ? nil : details.path,
                location: details.location.map { ErrorPlaceAnswer(line: $0.line, column: $0.column) })
        }
        let body = ErrorAnswer(operationID: operation, error: message, code: code, details: details)
        return .object(body.members + extra)
    }

    /// The one response to every failed authentication. It does not tell which part was wrong.
    static let unauthorized = APIError(
        401, "Authentication failed: send the app key with the secret that this call needs.", code: 40101)

    /// The secret is right, and is not good any more.
    static func ended(_ credential: String, at end: Int64) -> APIError {
        let remedy = "ask whoever operates the app for a new one ('lamplighter credential')"
        return APIError(
            401, "The secret of the credential '\(credential)' ended at \(TimeText.text(end)): \(remedy).", code: 40101)
    }

    static func tooManyGuesses(_ seconds: Int) -> APIError {
        APIError(
            429, "Too many wrong secrets came from this address. Try again in \(seconds) s.",
            retryAfter: seconds)
    }

    static func tooManyFalseProofs(_ seconds: Int) -> APIError {
        APIError(
            429, "Too many false proofs came from this address. Try again in \(seconds) s.",
            retryAfter: seconds)
    }

    static func tooFast(_ who: String, _ seconds: Int) -> APIError {
        APIError(429, "Too many requests a second come from \(who). Try again in \(seconds) s.", retryAfter: seconds)
    }

    /// Depends on the header alone, so it tells no more than `unauthorized`. Airship's clients send server tokens so.
    private static let unservedBearer = APIError(
        401,
        "Authentication failed: send Basic with the app key and the secret that this call needs. "
            + "A Bearer token must be the secret of a credential, or a token of GET /api/auth/device for the calls about its "
            + "own channel, for an hour. Airship's OAuth tokens of servers are not served.", code: 40101)

    static func unauthorized(_ headers: HTTPFields) -> APIError {
        headers.areBearer && headers[.airshipNonce] == nil ? unservedBearer : unauthorized
    }

    // The path names a thing that Redis does not have.
    static let noSuchBroadcast = APIError(404, "This name has no broadcast channel.", code: 40401)
    static let noDeadLetter = APIError(404, "There is no dead letter of that push.", code: 40401)
    static let noSuchPush = APIError(404, "This app has no push of that id, or its record has expired.", code: 40401)
    static let noTrace = APIError(
        404, "This push has no trace: it was published without options.trace, or its trace has expired.", code: 40401)
    static let notSentYet = APIError(
        404, "This push has no trace yet: it is a schedule that waits for its time.", code: 40401)
    static let noSuchSchema = APIError(404, "This app has no schema of that attributes type.", code: 40401)
    static let noSuchSchedule = APIError(
        404, "This app has no schedule of that id, or its record has expired.", code: 40401)

    static let notFound = APIError(404, "This path does not exist. Check its spelling.")

    /// Behind a proxy that decodes or folds the path, a call could even reach another name.
    static let slashInName = APIError(
        404, "This path does not exist. In a name a slash is %2F; a proxy on the way may have decoded it.")

    static func methodNotAllowed(_ allowed: [String]) -> APIError {
        var error = APIError(405, "This path does not take this method. Use \(allowed.joined(separator: ", ")).")
        error.allow = allowed
        return error
    }

    static func busy(_ what: String) -> APIError {
        APIError(503, "The gateway is at its limit of \(what). Try again.", retryAfter: 1)
    }

    static func bodyTooLarge(limit: Int) -> APIError {
        APIError(413, "The request body is larger than \(limit) bytes.")
    }
}
