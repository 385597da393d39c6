/// One value of a reply, in 16 bytes.
/// `position` depends on the kind. For an integer it is the number itself, and for text an offset into the arena's
/// bytes. For an array it is the index of its first element, and `count` elements follow each other.
struct ReplyNode: Sendable {
    enum Kind: UInt8, Sendable {
        /// Reserved but not read yet. In a finished arena it stands for an index beyond an array's end.
        case missing
        case null, integer, string, status, error, array
    }
    var position: Int64 = 0
    var count: UInt32 = 0
    var kind = Kind.missing
}
