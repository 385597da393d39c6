internal import APNsWire
import Delivery

/// Headers and payload that a page's requests share.
enum LanePush: Sendable, Hashable {
    case devices(PreparedPush)
    /// One request. Its page has one entry without a meaning.
    case broadcast(PreparedBroadcast)

    /// Header fields without `authorization`.
    var fields: [(name: String, value: String)] {
        switch self {
        case .devices(let push): push.fields
        case .broadcast(let broadcast): broadcast.fields
        }
    }

    var trace: Trace? {
        switch self {
        case .devices(let push): push.trace
        case .broadcast: nil
        }
    }

    var payload: [UInt8] {
        switch self {
        case .devices(let push): push.payload
        case .broadcast(let broadcast): broadcast.payload
        }
    }
}
