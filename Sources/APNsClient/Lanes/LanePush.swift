internal import APNsWire
import Delivery

/// Headers, payload and path that the requests of a page share.
struct LanePush: Sendable, Hashable {
    /// Header fields without `authorization`.
    let fields: [Exchange.Field]
    let payload: [UInt8]
    /// Nil: each request has the path of its token.
    let path: String?
    let trace: ExchangeRecorder?

    init(_ push: PreparedPush) {
        fields = push.fields.map { Exchange.Field($0.name, $0.value) }
        payload = push.payload
        path = nil
        trace = push.trace
    }

    /// One request. Its page has one entry without a meaning.
    init(_ broadcast: PreparedBroadcast) {
        fields = broadcast.fields.map { Exchange.Field($0.name, $0.value) }
        payload = broadcast.payload
        path = broadcast.path
        trace = nil
    }
}
