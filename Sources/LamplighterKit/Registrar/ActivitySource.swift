import Foundation

/// The side of ActivityKit that the registrar needs, for one attributes type. The app's is `ActivityKitSource`; tests
/// have `SimulatedActivities`.
///
/// ActivityKit may list a card late, or not at all in an extension. A sequence of it may be silent, or end while the
/// card lives. So an absence proves nothing, and each value can be read again.
protocol ActivitySource: Sendable {
    var attributesType: String { get }
    /// False: the user switched Live Activities off, so there are no cards.
    var isOn: Bool { get }
    /// The cards that ActivityKit lists now.
    func cards() -> [any Card]
    /// The cards that begin, started by the app or by a push.
    func newCards() -> AsyncStream<any Card>
    /// The present push-to-start token.
    var startToken: Data? { get }
    func startTokens() -> AsyncStream<Data>
    var hasFrequentPushes: Bool { get }
    /// The user changed the setting.
    func frequentPushes() -> AsyncStream<Bool>
}

/// One Live Activity.
protocol Card: Sendable {
    /// ActivityKit's id of the card.
    var id: String { get }
    /// The name that publishers use.
    var name: String { get }
    var token: Data? { get }
    /// The card's state. Nil: ActivityKit does not list the card now.
    var state: CardState? { get }
    /// The `lamplighter` of the content state that it shows.
    var mark: String? { get }
    // Each sequence begins with the present value, and ends at once if the card is not listed.
    func tokens() -> AsyncStream<Data>
    func states() -> AsyncStream<CardState>
    func marks() -> AsyncStream<String?>
}

enum CardState: Hashable, Sendable {
    /// The card starts later (iOS 26).
    case pending
    case active
    case ended
    case dismissed

    var isOver: Bool { self == .ended || self == .dismissed }
}

/// A content state that holds the id of its push. With `defaults.receipts` the gateway puts it there, and the kit
/// reports which pushes the cards show.
public protocol LamplighterContent {
    var lamplighter: String? { get }
}
