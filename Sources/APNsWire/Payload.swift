public import LiveActivity

/// The APNs payload of one push, rendered once, at acceptance. The timestamp has ten digits and a fixed place at the
/// start of `aps`, so the commit script can write the final time there, which is never before the name's last one.
public struct Payload: Sendable, Hashable {
    /// The most bytes for a device's token.
    public static let maximumBytes = Publish.maximumTokenPayload
    /// The most bytes for a broadcast channel.
    public static let maximumBroadcastBytes = 5_120
    /// Offset and length of the timestamp's digits in `bytes`.
    public static let timestampOffset = #"{"aps":{"timestamp":"#.utf8.count
    public static let timestampDigits = 10
    /// Timestamps with ten digits: 2001-09-09 to 2286-11-20.
    public static let timestampRange = 1_000_000_000...9_999_999_999

    public let bytes: [UInt8]

    /// - Parameter timestamp: must be in `timestampRange`
    public init(_ publish: Publish, timestamp: Int) {
        precondition(Self.timestampRange.contains(timestamp))
        var out: [UInt8] = []
        func put(_ text: String) { out.append(contentsOf: text.utf8) }
        put(#"{"aps":{"timestamp":\#(timestamp),"event":"\#(publish.event.rawValue)""#)
        func put(_ key: String, _ json: RawJSON?) {
            guard let json else { return }
            put(#","\#(key)":"#)
            out.append(contentsOf: json.bytes)
        }
        func put(_ key: String, _ number: Int?) { if let number { put(#","\#(key)":\#(number)"#) } }
        put("content-state", publish.contentState)
        put("attributes-type", publish.attributesType.map(Self.quoted))
        put("attributes", publish.attributes)
        put("stale-date", publish.staleDate)
        put("dismissal-date", publish.dismissalDate)
        put("relevance-score", publish.relevanceScore)
        put("alert", publish.alert)
        if publish.event == .start { out += Self.inputToken } else { put("}}") }
        bytes = out
    }

    /// A payload without its alert, so the device takes the state silently. An `alert` in the content state stays.
    public static func withoutAlert(_ payload: [UInt8]) -> [UInt8] {
        let key = Array(#","alert":"#.utf8)
        var depth = 0
        var isText = false
        var start: Int?
        var index = 0
        while index < payload.count {
            let byte = payload[index]
            switch byte {
            case UInt8(ascii: "\\") where isText: index += 1
            case UInt8(ascii: "\""): isText.toggle()
            case _ where isText: break
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"):
                // Members of `aps` are at depth 2. The timestamp is the first, so every other member follows a comma.
                if depth == 2 {
                    if let start { return Array(payload[..<start] + payload[index...]) }
                    if payload[index...].starts(with: key) { start = index }
                }
                if byte != UInt8(ascii: ",") { depth -= 1 }
            default: break
            }
            index += 1
        }
        return payload
    }

    /// A rendered payload with another timestamp, in `timestampRange`, as the commit script writes it.
    public static func stamped(_ payload: [UInt8], _ timestamp: Int) -> [UInt8] {
        payload.prefix(timestampOffset) + Array("\(timestamp)".utf8)
            + payload.dropFirst(timestampOffset + timestampDigits)
    }

    /// An `end` that shows the content of an update (`shown`), with the end's own time and without the alert.
    /// - Returns: `end` unchanged without `shown` or if the result is too large; the device keeps its content then
    public static func end(_ end: [UInt8], showing shown: [UInt8]?) -> [UInt8] {
        guard let shown else { return end }
        let update = Array(#","event":"update""#.utf8)
        let head = timestampOffset + timestampDigits
        guard end.count > head, shown.dropFirst(head).starts(with: update),
            shown.prefix(timestampOffset) == end.prefix(timestampOffset)
        else { return end }
        let rest = withoutAlert(shown).dropFirst(head + update.count)
        let bytes = Array(end.prefix(head)) + Array(#","event":"end""#.utf8) + rest
        return bytes.count <= maximumBytes ? bytes : end
    }

    /// The end of a start, which asks for an update token (iOS 18; earlier versions always make one).
    private static let inputToken = Array(#","input-push-token":1}}"#.utf8)

    /// The same start, with an activity that takes its updates from a broadcast channel.
    /// - Returns: nil if it would be too large; the start that asks for a token is used then
    public static func start(_ payload: [UInt8], onBroadcastChannel channel: BroadcastChannelID) -> [UInt8]? {
        guard payload.suffix(inputToken.count) == inputToken[...] else { return nil }
        // Base64 needs no escapes.
        let bytes = payload.dropLast(inputToken.count) + Array(#","input-push-channel":"\#(channel)"}}"#.utf8)
        return bytes.count <= maximumBytes ? Array(bytes) : nil
    }

    private static func quoted(_ text: String) -> RawJSON {
        var out: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: out += Array("\\u00".utf8) + [Hex.digit(byte >> 4), Hex.digit(byte & 15)]
            default: out.append(byte)
            }
        }
        return RawJSON(checked: out + [UInt8(ascii: "\"")])
    }
}

/// The push mark: a member of the content state with the short id of its push. The app sends it back with its receipts.
/// It is inside the content state because ActivityKit shows an app nothing else of a payload.
extension Payload {
    public static let pushMark = "lamplighter"
    private static let noID = [UInt8](repeating: UInt8(ascii: "A"), count: PushID.shortLength)

    /// A content state with a mark as its first member. `marked` writes the id, which is zero until then.
    public static func withMark(_ contentState: RawJSON) -> RawJSON {
        let members = contentState.bytes.dropFirst().drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        var bytes = Array(#"{"\#(pushMark)":""#.utf8)
        bytes += noID
        bytes += members.first == UInt8(ascii: "}") ? Array(#"""#.utf8) : Array(#"","#.utf8)
        bytes += contentState.bytes.dropFirst()
        return RawJSON(checked: bytes)
    }

    /// Writes the push's id into the mark of a rendered payload.
    /// - Returns: the payload unchanged if there is no mark without an id
    public static func marked(_ payload: [UInt8], _ event: ActivityEvent, with id: PushID) -> [UInt8] {
        let before = #","event":"\#(event.rawValue)","content-state":{"\#(pushMark)":""#.utf8.count
        let start = timestampOffset + timestampDigits + before
        guard payload.dropFirst(start).starts(with: noID) else { return payload }
        return payload.prefix(start) + Array(id.short.utf8) + payload.dropFirst(start + noID.count)
    }
}
