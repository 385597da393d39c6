import Foundation

/// The side of ActivityKit that the registrar needs, for one attributes type. The app's is `ActivityKitSource`; tests
/// have a double.
protocol ActivitySource: Sendable {
    var attributesType: String { get }
    /// Those that exist now.
    func cards() -> [any Card]
    /// Those that begin, started by the app or by a push.
    func newCards() -> AsyncStream<any Card>
    /// Push-to-start tokens, the present one first.
    func startTokens() -> AsyncStream<Data>
    var hasFrequentPushes: Bool { get }
    /// The user changed the setting.
    func frequentPushes() -> AsyncStream<Bool>
}

/// One Live Activity.
protocol Card: Sendable {
    /// ActivityKit's.
    var id: String { get }
    /// The name that publishers use.
    var name: String { get }
    var token: Data? { get }
    var state: CardState { get }
    /// The `lamplighter` of the content state that it shows.
    var mark: String? { get }
    func tokens() -> AsyncStream<Data>
    func states() -> AsyncStream<CardState>
    func marks() -> AsyncStream<String?>
}

enum CardState: Hashable, Sendable {
    /// It starts later (iOS 26).
    case pending
    case active
    case ended
    case dismissed

    var isOver: Bool { self == .ended || self == .dismissed }
}
