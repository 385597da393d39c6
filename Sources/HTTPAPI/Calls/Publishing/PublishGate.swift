import LiveActivity
import Store
import StrictJSON

/// A feature that may hold publishes. A publish, a schedule and a replacement ask the gates after all checks, when
/// their ids are known and before anything is accepted; a dry run asks what they would hold.
struct PublishGate: Sendable {
    /// The word that tells callers what a held publish waits for (`held`). The console has a page for it (`HeldPage`).
    let word: String
    /// The word for it in the log of actions.
    let action: ActionKind
    /// Whether it holds these pushes of a call. It asks nobody.
    let holds: @Sendable ([PublishBody.Push], Call, GatewayConfiguration) -> Bool
    /// Keeps them until something lets them go. Repeatable with the same ids.
    /// - Returns: the id under which they wait. Nil: they were let go since, so this is a repetition.
    let keep: @Sendable (PublishAttempt, GatewayParts, Call) async throws -> PushID?
}

/// The pushes that a call would publish, once all checks are passed.
struct PublishAttempt: Sendable {
    enum Kind: Sendable, Hashable {
        case publish, schedule
        /// The schedule of the first id gets the first push.
        case replacement
    }

    var kind: Kind
    /// The ids of the pushes, or of their schedules.
    var ids: [PushID]
    var pushes: [PublishBody.Push]
    /// When each push is to go out, epoch ms. Nil: at once.
    var times: [Int64?]
    /// The error for a time that is past, unless the call is a repetition.
    var past: JSONError?
}

/// The outcome of a gate that held a call.
struct Holding: Sendable {
    var gate: PublishGate
    /// The id under which the pushes wait. Nil: they were let go since, so they are accepted already.
    var id: PushID?

    /// The word and the id for the answer.
    var held: String? { id == nil ? nil : gate.word }
    /// For the log of actions.
    var subjects: [Action.Subject: String?] { [.entry: id?.description] }
}

extension GatewayConfiguration {
    /// The gates, in the order in which they are asked. A test has gates of its own.
    var gates: [PublishGate] {
        get { extras[[PublishGate].self] ?? PublishGate.ofFeatures }
        set { extras[[PublishGate].self] = newValue }
    }
}

extension GatewayParts {
    /// The first gate that holds these pushes. Nil: none does.
    func gate(_ pushes: [PublishBody.Push], _ call: Call) -> PublishGate? {
        configuration.gates.first { $0.holds(pushes, call, configuration) }
    }

    /// Gives an attempt to the gate that holds it.
    /// - Returns: nil if none does. The caller goes on then.
    func hold(_ attempt: PublishAttempt, _ call: Call) async throws -> Holding? {
        guard let gate = gate(attempt.pushes, call) else { return nil }
        return Holding(gate: gate, id: try await gate.keep(attempt, self, call))
    }
}
