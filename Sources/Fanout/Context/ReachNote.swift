import LiveActivity
import Store

/// A feature that learns which devices a page reached. A worker calls it before the page is settled, so it must
/// not wait. It is not told of tests on one device.
struct ReachNote: Sendable {
    typealias Note = @Sendable (AppKey, TokenPage, _ reached: [Int]) -> Void

    /// Makes the function that one worker calls: with the indices of the entries that got the push.
    let begin: @Sendable (Store) -> Note

    static let all = ofFeatures
}
