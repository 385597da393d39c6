import Answers
import LiveActivity
import Store
import StrictJSON

/// The conditions of publishes (`options.after`): each holds if the push that it names is the newest one of its name.
/// The script that accepts a push judges its condition. Here are the words, and looks before that.
struct PublishConditions {
    private static let path = "options.after"

    private let pushes: Pushes

    init(_ parts: GatewayParts) { pushes = parts.store.pushes }

    /// Pushes of one call, where a push with the condition of an earlier one of its name comes after that one.
    static func chained(_ pushes: [PublishBody.Push], _ ids: [PushID]) -> [PublishBody.Push] {
        struct Key: Hashable { var name: ActivityName, after: AfterPush }
        var last: [Key: PushID] = [:]
        return zip(pushes, ids).map { push, id in
            var push = push
            let after = push.publish.options.after
            if after == .any { return push }
            let key = Key(name: push.publish.name, after: after)
            if let before = last[key] { push.publish.options.after = .push(before) }
            // A test is no push that another one comes after.
            if !push.publish.isTest { last[key] = id }
            return push
        }
    }

    /// The first condition that does not hold now. Nil: they hold.
    /// - Returns: its place among the pushes, and the refusal that its push would get
    func firstConflict(_ pushes: [PublishBody.Push], _ call: Call) async throws -> (position: Int, refusal: APIError)? {
        for (position, push) in pushes.enumerated() where push.publish.options.after != .any {
            let newest = try await self.pushes.present(call.app.key, push.publish.name).newest
            if AfterPush(newest: newest?.ledger.id) == push.publish.options.after { continue }
            return (position, Self.refusal(newest?.ledger.id, newest, call))
        }
        return nil
    }

    /// Nil if the condition of each push holds now.
    func warning(_ pushes: [PublishBody.Push], _ call: Call) async -> String? {
        guard let found = try? await firstConflict(pushes, call) else { return nil }
        return (pushes.count > 1 ? "[\(found.position)]." : "") + found.refusal.message
    }

    /// The refusal of a push, because `newest` is the newest one of its name. Nil: the name has none.
    func refusal(_ name: ActivityName, newest: PushID?, _ call: Call) async -> APIError {
        guard let newest else { return Self.refusal(nil, nil, call) }
        return Self.refusal(newest, (try? await pushes.push(call.app.key, name, newest)) ?? nil, call)
    }

    /// - Parameter push: nil if it cannot be read any more
    private static func refusal(_ id: PushID?, _ push: PresentPush?, _ call: Call) -> APIError {
        let answer = push?.newestAnswer(call)
        let words = answer.map { " (\($0.event), \($0.state)\($0.by.map { ", by \($0.caller)" } ?? ""))" } ?? ""
        let now = id.map { "the newest push of the name is \($0)\(words)" } ?? "the name has no push"
        let problem = "does not hold: \(now). Nothing was accepted. Look at it, then publish after it"
        var error = APIError(
            409, "\(path): \(problem).", code: ErrorAnswer.newerPush,
            details: APIError.Details(error: problem, path: path, location: nil))
        if let answer { error.extra.append(JSON.Member("newest_push", answer.answerJSON)) }
        return error
    }
}

extension PresentPush {
    /// The push as a condition names it. The publisher is only for callers that may read.
    func newestAnswer(_ call: Call) -> NewestPushAnswer {
        NewestPushAnswer(
            pushID: ledger.id.description, event: ledger.event.rawValue, state: ledger.state.rawValue,
            acceptedAt: TimeText.text(ledger.createdAt), audience: audience.answer,
            deviceTypes: audience.deviceTypes,
            by: call.mayRead ? ledger.publisher.map(PublisherAnswer.init) : nil)
    }
}
