import Answers
import LiveActivity
import Store

/// Pushes that not all tokens got, and their second try.
struct DeadLetterCalls: CallGroup {
    private let deadLetters: DeadLetters
    private let alarms: Alarms

    init(_ parts: GatewayParts) { (deadLetters, alarms) = (parts.store.deadLetters, parts.store.alarms) }

    func list(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        let after = try call.queriedID("after")
        let prefix = call.namePrefix
        let letters = try await deadLetters.list(call.app.key, namesFrom: prefix, after: after, limit: limit)
        let total = try await deadLetters.count(call.app.key, namesFrom: prefix)
        let next = letters.count == limit ? letters.last?.push.description : nil
        return Answer(200, DeadLettersAnswer(total: total, dead: letters.map(\.answer), next: next))
    }

    func show(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let letter = try await deadLetters.letter(call.app.key, id) else { throw APIError.noDeadLetter }
        return Answer(200, letter.answer)
    }

    func retry(_ call: Call) async throws -> Answer {
        switch try await deadLetters.retry(call.app.key, call.id("push_id")) {
        case .taken(let tokens, let isResumed):
            return Answer(200, RetriedAnswer(retried: tokens, resumed: isResumed)).about([:], count: tokens)
        case .none: throw APIError.noDeadLetter
        case .newer(let newer):
            let sent = "A newer push\(newer.map { " (\($0))" } ?? "") went out under this name"
            throw APIError(409, "\(sent), so this one cannot be sent again. Publish the current state.")
        case .expired: throw APIError(409, "The push has expired. Publish the current state.")
        case .notFinished:
            throw APIError(409, "The push was cancelled or is still being sent. Its ledger tells which.")
        }
    }

    func drop(_ call: Call) async throws -> Answer {
        guard try await deadLetters.drop(call.app.key, call.id("push_id")) else { throw APIError.noDeadLetter }
        // Somebody decided about each push that expired. An alarm that stays is no error of this call.
        guard try await deadLetters.count(call.app.key) == 0 else { return .empty }
        for platform in Platform.all { try? await alarms.clear(AppPlatform(call.app.key, platform), .expired) }
        return .empty
    }
}

extension DeadLetter {
    fileprivate var answer: DeadLetterAnswer {
        DeadLetterAnswer(
            pushID: push.description, name: name.rawValue, at: TimeText.text(at), stopped: stopped, tokens: tokens,
            kept: kept, notKept: notKept, reasons: reasons)
    }
}
