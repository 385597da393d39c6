/// A payload as ActivityKit on the device reads it. APNs accepts any JSON, but the device silently ignores what it
/// cannot use. The simulator records why.
struct DevicePayload: Sendable {
    enum Event: String, Sendable { case start, update, end }

    /// The reason why the device ignores the payload. Nil if it does not.
    var fault: String?
    /// Epoch seconds.
    var timestamp: Int?
    var event: Event?
    /// For a start: the broadcast channel from which the new activity gets its updates.
    var inputChannel: String?
    /// Raw JSON, as sent.
    var contentState: String?
    var alert: String?
    /// Epoch seconds.
    var dismissalDate: Int?
    /// The whole number in the content-state's member `orderMember`, at its top level.
    var order: Int?

    init(_ bytes: [UInt8], orderMember: String?) { fault = read(bytes, orderMember) }

    private mutating func read(_ bytes: [UInt8], _ orderMember: String?) -> String? {
        guard let root = JSONReader.read(bytes), root.kind == .object else { return "payload is not a JSON object" }
        guard let aps = root.members["aps"], aps.kind == .object else { return "aps is missing or not an object" }
        let members = aps.members
        func wrong(_ name: String, _ kind: JSONReader.Kind) -> Bool { members[name].map { $0.kind != kind } ?? false }
        func absent(_ name: String, _ kind: JSONReader.Kind) -> Bool { members[name]?.kind != kind }
        timestamp = members["timestamp"]?.seconds
        event = members["event"]?.string.flatMap(Event.init)
        if let value = members["content-state"], value.kind == .object { contentState = value.text }
        alert = members["alert"]?.text
        if let value = members["dismissal-date"], value.kind == .number { dismissalDate = Int(value.text) }
        if let orderMember, let value = members["content-state"]?.members[orderMember], value.kind == .number {
            order = Int(value.text)
        }

        if timestamp == nil { return "timestamp is missing or not a number" }
        guard let event else { return "event is not start, update or end" }
        if contentState == nil, event != .end || members["content-state"] != nil {
            return "content-state is missing or not an object"
        }
        for name in ["stale-date", "dismissal-date", "relevance-score"] where wrong(name, .number) {
            return "\(name) is not a number"
        }
        if event == .start {
            if absent("attributes-type", .string) { return "attributes-type is missing or not a string" }
            if absent("attributes", .object) { return "attributes is missing or not an object" }
            if members["alert"] == nil { return "alert is missing" }
            if let token = members["input-push-token"], token.kind != .number || token.text != "1" {
                return "input-push-token is not 1"
            }
            if let channel = members["input-push-channel"] {
                if members["input-push-token"] != nil {
                    return "input-push-token and input-push-channel exclude each other"
                }
                guard let id = channel.string, !id.isEmpty, Base64.isEncoded(id) else {
                    return "input-push-channel is not the id of a channel"
                }
                inputChannel = id
            }
        }
        return nil
    }
}
