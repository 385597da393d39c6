/// The parts of a request's head that APNs checks.
struct RequestHead: Sendable {
    /// All header fields, as received.
    let fields: [(name: String, value: String)]
    var method = ""
    var path = ""
    var scheme: String?
    var authorization: String?
    var topic: String?
    var pushType: String?
    var priority: String?
    var expiration: String?
    var id: String?
    var collapseID: String?
    var channelID: String?
    var requestID: String?
    var contentLength: Int?
    /// Whether one of the headers above was sent twice.
    var repeatsHeader = false
    /// Whether this is not a valid request at all (RFC 9113, 8.1.1). Its stream is reset then.
    var isMalformed = false

    init(_ fields: [(name: String, value: String)]) {
        self.fields = fields
        var pseudoHeadersEnded = false
        for (name, value) in fields {
            if name.utf8.first == UInt8(ascii: ":") {
                if pseudoHeadersEnded { isMalformed = true }
                switch name {
                case ":method":
                    if !method.isEmpty { isMalformed = true }
                    method = value
                case ":path":
                    if !path.isEmpty { isMalformed = true }
                    path = value
                case ":scheme": scheme = value
                case ":authority": break
                default: isMalformed = true
                }
                continue
            }
            pseudoHeadersEnded = true
            switch name {
            case "authorization": Self.set(&authorization, value, &repeatsHeader)
            case "apns-topic": Self.set(&topic, value, &repeatsHeader)
            case "apns-push-type": Self.set(&pushType, value, &repeatsHeader)
            case "apns-priority": Self.set(&priority, value, &repeatsHeader)
            case "apns-expiration": Self.set(&expiration, value, &repeatsHeader)
            case "apns-id": Self.set(&id, value, &repeatsHeader)
            case "apns-collapse-id": Self.set(&collapseID, value, &repeatsHeader)
            case "apns-channel-id": Self.set(&channelID, value, &repeatsHeader)
            case "apns-request-id": Self.set(&requestID, value, &repeatsHeader)
            case "content-length":
                contentLength = Int(value)
                if contentLength == nil { isMalformed = true }
            case "connection", "transfer-encoding", "upgrade", "keep-alive", "proxy-connection": isMalformed = true
            default:
                if name.isEmpty || name.utf8.contains(where: { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) {
                    isMalformed = true
                }
            }
        }
        if method.isEmpty || path.isEmpty || scheme == nil { isMalformed = true }
    }

    private static func set(_ field: inout String?, _ value: String, _ repeats: inout Bool) {
        if field != nil { repeats = true }
        field = value
    }
}
