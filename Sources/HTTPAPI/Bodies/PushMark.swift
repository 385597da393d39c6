import APNsWire
import LiveActivity
import StrictJSON

/// Adds the push mark, which receipts need, to a push whose app takes receipts.
enum PushMark {
    /// Adds the mark to the payload. If it has no room, or if the publisher uses its name, the push goes out without it
    /// and with a warning: receipts must not make a publish fail that would pass without them.
    /// - Parameter timestamp: epoch seconds, in `Payload.timestampRange`
    static func add(
        to push: inout PublishBody.Push, timestamp: Int, warnings: inout [String]
    ) throws(JSONError) {
        guard let value = push.contentState, let contentState = push.publish.contentState else { return }
        guard try value.object()[Payload.pushMark] == nil else {
            warnings.append("\(value.path).\(Payload.pushMark) is not the push's mark: this push gets no receipts")
            return
        }
        var marked = push.publish
        marked.contentState = Payload.withMark(contentState)
        let payload = Payload(marked, timestamp: timestamp).bytes
        let limit = push.oversize == nil ? Payload.maximumBytes : Payload.maximumBroadcastBytes
        guard payload.count <= limit else {
            warnings.append(
                "\(value.path) leaves no room for the push's mark (\(payload.count - push.payload.count) bytes, limit "
                    + "\(limit)): this push gets no receipts")
            return
        }
        push.payload = payload
        push.isMarked = true
    }
}
