internal import Synchronization

/// Collects the exchanges of a push that is traced. It travels with the push, so only lanes that send such a push look
/// at it. Lanes write from their threads.
public final class ExchangeRecorder: Sendable, Hashable {
    private let noted = Mutex<[Exchange]>([])

    public init() {}

    public func note(_ exchange: Exchange) { noted.withLock { $0.append(exchange) } }
    /// The exchanges so far, in the order of their ends.
    public var exchanges: [Exchange] { noted.withLock { $0 } }

    public static func == (one: ExchangeRecorder, other: ExchangeRecorder) -> Bool { one === other }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
