/// The form of bytes from a file that should be text in UTF-8. Editors, spreadsheets and shells write other forms.
public enum TextForm {
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The bytes without a byte order mark, which says nothing in UTF-8.
    public static func unmarked(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
    }

    public static func isMarked(_ bytes: [UInt8]) -> Bool { bytes.starts(with: mark) }

    /// Names the form of bytes that are not UTF-8 text, and says what to do. Nil: they may be text.
    public static func foreign(_ bytes: [UInt8]) -> ForeignForm? {
        if let form = known(bytes) { return form }
        let head = bytes.prefix(4_096)
        guard head.contains(0) else { return nil }
        // Every second byte of Latin text in UTF-16 is zero.
        return head.count { $0 == 0 } * 3 > head.count ? .utf16 : ForeignForm("a binary file", "give a text file")
    }

    /// Names forms that are known by their first bytes alone, whatever follows in the file.
    public static func known(_ bytes: [UInt8]) -> ForeignForm? {
        begins.first { bytes.starts(with: $0.0) }?.1
    }

    private static let begins: [([UInt8], ForeignForm)] = [
        ([0xFF, 0xFE], .utf16), ([0xFE, 0xFF], .utf16),
        (
            Array("PK\u{3}\u{4}".utf8),
            ForeignForm("a zip file, as .xlsx is", "unpack it, or save the sheet as CSV in UTF-8")
        ),
        ([0xD0, 0xCF, 0x11, 0xE0], ForeignForm("an old spreadsheet (.xls)", "save the sheet as CSV in UTF-8")),
        ([0x1F, 0x8B], ForeignForm("a gzip file", "unpack it with gunzip")),
        ([0x28, 0xB5, 0x2F, 0xFD], ForeignForm("a zstd file", "unpack it with unzstd")),
        ([0xFD, 0x37, 0x7A, 0x58, 0x5A], ForeignForm("an xz file", "unpack it with unxz")),
        (Array("BZh".utf8), ForeignForm("a bzip2 file", "unpack it with bunzip2")),
        (Array("%PDF".utf8), ForeignForm("a PDF file", "give a text file")),
    ]
}

public struct ForeignForm: Sendable, Hashable, CustomStringConvertible {
    public let name: String
    public let remedy: String

    init(_ name: String, _ remedy: String) { (self.name, self.remedy) = (name, remedy) }

    fileprivate static let utf16 = ForeignForm("UTF-16 text", "save it as UTF-8")
    public var description: String { "it is \(name); \(remedy)" }
}
