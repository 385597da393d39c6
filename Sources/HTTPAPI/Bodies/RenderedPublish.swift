public import LiveActivity
public import StrictJSON

/// A publish as the gateway would accept it, for a command that sends it without a gateway.
public struct RenderedPublish: Sendable {
    public var publish: Publish
    /// The APNs payload, with the present time if the body has none.
    public var payload: [UInt8]
    public var warnings: [String]

    /// Reads the body of one push, as `POST /api/push` takes it.
    /// - Parameter now: epoch milliseconds
    /// - Throws: also for a payload that is too large for a token
    public init(_ bytes: [UInt8], now: Int64) throws(JSONError) {
        let push = try PublishBody.push(JSONDocument(bytes).root, now: now / 1_000)
        if let oversize = push.oversize { throw oversize }
        (publish, payload, warnings) = (push.publish, push.payload, push.warnings)
    }
}
