public import LiveActivity
internal import OpenSSL

/// `apns-collapse-id` of a start, at most 64 bytes. A device keeps one of several starts with the same id. So a start
/// that is repeated, by its publisher or after a lost answer, makes one card. Updates and ends have no collapse id,
/// because APNs might drop one that carries an alert.
///
/// The id has to differ by channel and name. A request goes to one device's token, and APNs compares ids only among
/// requests to that device, so the name is enough. It is hashed, because a name may be too long or unfit for a header.
public enum CollapseID {
    public static func start(_ name: ActivityName) -> String {
        Hex.encode(SHA256Digest(of: name.rawValue.utf8).prefix(16))
    }
}
