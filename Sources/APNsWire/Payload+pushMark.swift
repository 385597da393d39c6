public import LiveActivity

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
