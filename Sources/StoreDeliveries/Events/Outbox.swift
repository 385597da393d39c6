import LiveActivity
import StoreGround

/// A name's outbox: its final pushes that are not told yet, in the order in which they became final. The script that
/// makes a push final writes the entry on the name's slot. A worker moves it to the app's slot, which in a cluster is
/// another one. Until then the entry stays, so a death in between loses nothing.
package enum Outbox {
    /// How long it is kept without a worker that empties it.
    static let life = ScriptNumbers.outboxLife

    /// `<push> <number> <state> <ms>`
    package struct Entry {
        var push: PushID
        /// How often the push has become final. An operator may have retried its dead letter.
        var number: Int
        var state: PushState
        /// Epoch milliseconds.
        var at: Int64

        init?(_ text: String) {
            let parts = text.split(separator: " ")
            guard parts.count == 4, let push = PushID(String(parts[0])), let number = StoredNumber.read(parts[1]),
                let state = PushState(rawValue: String(parts[2])), let at = StoredNumber.read(parts[3])
            else { return nil }
            (self.push, self.number, self.state, self.at) = (push, number, state, Int64(at))
        }
    }
}
