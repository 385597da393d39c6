/// The text `com.urbanairship.live_update` of a message, as Airship's SDK for Android reads it.
final class LiveUpdate: Sendable {
    enum Event: String, Sendable { case start, update, end }

    let text: String
    let name: String
    let event: Event
    let type: String?
    /// Epoch seconds.
    let timestamp: Int
    /// Raw JSON. Nil only for an `end`.
    let contentState: String?
    /// Epoch seconds.
    let dismissalDate: Int?
    /// The whole number in the content state's member `orderMember`, at its top level.
    let order: Int?

    /// The reason why the phone ignores a message.
    struct Fault: Error {
        var text: String
    }

    init(_ text: String, orderMember: String?) throws(Fault) {
        guard let root = JSONReader.read(Array(text.utf8)), root.kind == .object else {
            throw Fault(text: "live_update is not a JSON object")
        }
        let members = root.members
        guard let name = members["name"]?.decodedString, !name.isEmpty else { throw Fault(text: "name is missing") }
        guard let event = members["event"]?.string.flatMap(Event.init) else {
            throw Fault(text: "event is not start, update or end")
        }
        guard let timestamp = members["timestamp"]?.seconds else {
            throw Fault(text: "timestamp is missing or not a number")
        }
        let type = members["type"]?.decodedString
        if event == .start, type == nil { throw Fault(text: "type is missing in a start") }
        var state = members["content_state"]
        // The content state may be an object, or a text with one.
        if let text = state?.decodedString { state = JSONReader.read(Array(text.utf8)) }
        if state?.kind != .object, event != .end || members["content_state"] != nil {
            throw Fault(text: "content_state is missing or not an object")
        }
        if let date = members["dismissal_date"], date.seconds == nil {
            throw Fault(text: "dismissal_date is not a number")
        }
        self.text = text
        self.name = name
        self.event = event
        self.type = type
        self.timestamp = timestamp
        contentState = state?.text
        dismissalDate = members["dismissal_date"]?.seconds
        order = orderMember.flatMap { state?.members[$0] }.flatMap { $0.kind == .number ? Int($0.text) : nil }
    }
}
