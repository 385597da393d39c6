import APNsWire
import Delivery
import Synchronization

/// APNs's answer to a token, by its number, until the test changes it.
final class Word: Sendable {
    private let rule: Mutex<@Sendable (Int) -> PushOutcome>

    init(_ rule: @escaping @Sendable (Int) -> PushOutcome) { self.rule = Mutex(rule) }

    /// The same answer to every token.
    convenience init(_ outcome: PushOutcome) { self.init { _ in outcome } }

    func becomes(_ new: @escaping @Sendable (Int) -> PushOutcome) { rule.withLock { $0 = new } }

    func transport() -> ScriptedTransport {
        ScriptedTransport { [self] token, _ in rule.withLock { $0 }(WorkerFixture.number(token)) }
    }
}
