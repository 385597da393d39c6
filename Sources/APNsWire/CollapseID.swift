public import LiveActivity
internal import OpenSSL

/// `apns-collapse-id` of a start, at most 64 bytes: of several starts of one name the device keeps one, so that a start that
/// is repeated, by its publisher or because an answer was lost, makes one card.
///
/// It has to differ by channel and name. A request goes to one device's token, and APNs compares it with others to that
/// device alone, so the name is enough; hashed, since a name may be longer, and holds what a header must not.
/// Updates and ends have none: APNs might drop one that an alert was in.
public enum CollapseID {
    public static func start(_ name: ActivityName) -> String {
        Hex.encode(SHA256Digest(of: name.rawValue.utf8).prefix(16))
    }
}
