import Foundation

/// The reply to a request, or its absence.
enum Reply: Hashable, Sendable {
    /// - Parameter date: the `Date` of the answer, in epoch milliseconds.
    case answered(status: Int, retryAfter: Double?, date: Int64?, body: Data)
    /// No answer: the phone is offline, or the request timed out. The gateway may have done it.
    case unreachable(String)

    var date: Int64? {
        guard case .answered(_, _, let date, _) = self else { return nil }
        return date
    }
}

/// The outbox's decision after a reply. A value without clock or I/O.
enum Fate: Hashable, Sendable {
    case done
    /// Send it again later. `after`: seconds that the gateway asks for.
    case again(after: Double?, reason: String)
    /// The gateway will never take it. The text is for the developer.
    case refused(String)
    /// The start of the activity lies too far ahead, by a device clock that is wrong. Send it without.
    case withoutStart
    /// The app takes no receipts.
    case receiptsOff

    init(_ reply: Reply) {
        guard case .answered(let status, let retryAfter, _, let body) = reply else {
            guard case .unreachable(let reason) = reply else { preconditionFailure("a reply has two cases") }
            self = .again(after: nil, reason: reason)
            return
        }
        let answer = GatewayAnswer(body)
        let words = "\(status) \(answer?.error ?? "without the gateway's words")"
        switch status {
        // A page of a captive portal, or of a proxy while its gateway is away, is also a 200.
        case 200..<300 where answer?.ok == true:
            // The batch answers 200 with `problems`: it must not make Airship's SDK repeat a bad entry for ever.
            if let problem = answer?.problems?.first { self = .refused(problem) } else { self = .done }
        // 401: the token has expired, and a fresh one was refused too. The app's backend may be late with a new secret.
        case 401, 408, 425, 429, 500...: self = .again(after: retryAfter, reason: words)
        case 400 where answer?.details?.path == "started_at_ms": self = .withoutStart
        case 403 where answer?.code == 40300: self = .receiptsOff
        // A proxy that has no gateway behind it for a moment says 404 in words of its own.
        case _ where answer?.code == nil: self = .again(after: retryAfter, reason: words)
        default: self = .refused(words)
        }
    }
}

/// The members of an answer that the kit reads.
struct GatewayAnswer: Decodable {
    struct Details: Decodable { var path: String? }
    var ok: Bool?
    var error: String?
    var code: Int?
    var details: Details?
    var problems: [String]?

    enum CodingKeys: String, CodingKey {
        case ok, error, details, problems
        case code = "error_code"
    }

    /// The parts of an answer's body that the kit reads. Nil: the body is not in the gateway's form.
    init?(_ body: Data) {
        guard let answer = try? JSONDecoder().decode(GatewayAnswer.self, from: body) else { return nil }
        self = answer
    }
}
