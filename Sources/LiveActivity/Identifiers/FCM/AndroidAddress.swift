/// Where FCM reaches an app on an Android device: a registration token, or a Firebase installation id. Its length does
/// not tell which, so its stored form says it in one byte, and an address on APNs has no byte more.
public struct AndroidAddress: Hashable, Sendable, CustomStringConvertible {
    /// The field of a message that holds the address. The raw value is the first byte of the stored form.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        /// A registration token.
        case token = 0x74  // "t"
        /// An installation id.
        case fid = 0x66  // "f"

        /// The field's name, in FCM's messages and in the gateway's requests.
        public var field: String {
            switch self {
            case .token: "token"
            case .fid: "fid"
            }
        }
    }

    public static let maximumText = 250

    public let kind: Kind
    /// The text in FCM's messages. None of its characters needs an escape in JSON.
    public let text: String

    /// - Throws: unless `text` is 1 to 250 visible ASCII characters without `"` and `\`. An installation id has 22
    ///   characters of Base64 for URLs and begins with c, d, e or f.
    public init(_ kind: Kind, _ text: String) throws(IdentifierError) {
        switch kind {
        case .token:
            guard (1...Self.maximumText).contains(text.utf8.count), text.utf8.allSatisfy(Self.isPlain) else {
                throw IdentifierError(
                    what: "token",
                    rule: #"1 to \#(Self.maximumText) visible ASCII characters without quotes and backslashes, "#
                        + "as FirebaseMessaging.getToken gives it")
            }
        case .fid:
            guard text.utf8.count == 22, let first = text.utf8.first, "cdef".utf8.contains(first),
                text.utf8.allSatisfy({ $0.isLetterOrDigit || "_-".utf8.contains($0) })
            else {
                throw IdentifierError(
                    what: "fid",
                    rule: "22 letters, digits, _ or -, the first one of c, d, e and f, "
                        + "as Firebase gives the id of an installation")
            }
        }
        (self.kind, self.text) = (kind, text)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// The form in a follower's record: the kind's byte, and then the text.
    public var stored: [UInt8] { [kind.rawValue] + Array(text.utf8) }

    /// Reads the stored form; nil if the bytes were not written by `stored`.
    public init?(stored: some Collection<UInt8>) {
        guard let kind = stored.first.flatMap(Kind.init),
            let text = String(validating: stored.dropFirst(), as: UTF8.self),
            let address = try? AndroidAddress(kind, text)
        else { return nil }
        self = address
    }

    /// A form that is safe for logs: the kind, the first characters and the length.
    public var description: String { "\(kind.field) \(text.prefix(4))…(\(text.utf8.count) characters)" }
}

extension PushToken {
    public init(_ address: AndroidAddress) {
        // 251 visible characters at most, so the text is an address.
        self.init(stored: address.stored, of: .android)
    }
}
