/// The body of a `messages:send`, read by the rules of Google's reference of the HTTP v1 API.
struct FCMMessage: Sendable, Hashable {
    enum Kind: String, Sendable { case token, fid }

    var kind: Kind
    /// A registration token, or an installation id.
    var address: String
    var data: [String: String] = [:]
    var isHigh = false
    /// Seconds. Nil: four weeks.
    var ttl: Double?
    var collapseKey: String?
    var validateOnly = false

    /// The most bytes of all keys and values of `data`.
    static let maximumData = 4_096
    /// The most bytes of a body that are read: data of which each byte is escaped as `\u0000`, and room for the rest.
    static let maximumBody = 32 << 10

    /// Why a message is refused.
    struct Rejection: Error, Hashable {
        var reason = FCMReason.invalidPayload
        /// Nil: the reason's usual text.
        var text: String?
        var violations: [FieldViolation] = []

        /// With the reason's usual text.
        init(_ reason: FCMReason) { self.reason = reason }

        init(_ field: String, _ text: String) {
            self.text = text
            violations = [FieldViolation(field: field, description: text)]
        }

        static func unknown(_ name: String, at place: String) -> Rejection {
            let at = place.isEmpty ? "" : " at '\(place)'"
            return Rejection(place, "Invalid JSON payload received. Unknown name \"\(name)\"\(at): Cannot find field.")
        }

        static func value(_ place: String, _ type: String, _ value: JSONReader.Value) -> Rejection {
            Rejection(place, "Invalid value at '\(place)' (\(type)), \(value.text.prefix(80))")
        }
    }

    static func read(_ body: [UInt8]) throws(Rejection) -> FCMMessage {
        guard body.count <= maximumBody else { throw Rejection("message", "Android message is too big") }
        guard let root = JSONReader.read(body), root.kind == .object else {
            throw Rejection("", "Invalid JSON payload received. Unexpected token.")
        }
        var message: FCMMessage?
        var validateOnly = false
        for (name, value) in root.entries {
            switch name.decodedString {
            case "message": message = try readMessage(value)
            case "validate_only", "validateOnly":
                guard value.kind == .boolean else { throw .value("validate_only", "TYPE_BOOL", value) }
                validateOnly = value.text == "true"
            case let name: throw .unknown(name ?? "", at: "")
            }
        }
        guard var message else { throw Rejection("message", "Message is not set.") }
        message.validateOnly = validateOnly
        return message
    }

    private static func readMessage(_ value: JSONReader.Value) throws(Rejection) -> FCMMessage {
        guard value.kind == .object else { throw .value("message", "Message", value) }
        var targets: [(kind: Kind, address: String)] = []
        var data: [String: String] = [:]
        var android: JSONReader.Value?
        for (name, value) in value.entries {
            let name = name.decodedString ?? ""
            switch name {
            case "token", "fid":
                guard let kind = Kind(rawValue: name), let address = value.decodedString else {
                    throw .value("message.\(name)", "TYPE_STRING", value)
                }
                targets.append((kind, address))
            case "topic", "condition":
                throw Rejection("message.\(name)", "The simulator sends only to a token or a fid.")
            case "data": data = try readData(value, at: "message.data")
            case "android": android = value
            case "name", "notification", "webpush", "apns", "fcm_options", "fcmOptions": break
            default: throw .unknown(name, at: "message")
            }
        }
        guard let (kind, address) = targets.first else {
            throw Rejection("message", "Recipient of the message is not set.")
        }
        if targets.count > 1 {
            throw Rejection("message", "Invalid value at 'message' (oneof), oneof field 'target' is already set.")
        }
        guard isAddress(address, kind) else { throw Rejection(.invalidToken) }
        var message = FCMMessage(kind: kind, address: address, data: data)
        if let android { try message.readAndroid(android) }
        let bytes = message.data.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard bytes <= maximumData else { throw Rejection("message.data", "Android message is too big") }
        return message
    }

    private static func readData(_ value: JSONReader.Value, at place: String) throws(Rejection) -> [String: String] {
        guard value.kind == .object else { throw .value(place, "map", value) }
        var data: [String: String] = [:]
        for (index, (name, value)) in value.entries.enumerated() {
            guard let key = name.decodedString else { throw .value("\(place)[\(index)].key", "TYPE_STRING", name) }
            guard let text = value.decodedString else { throw .value("\(place)[\(index)].value", "TYPE_STRING", value) }
            guard key != "from", key != "message_type", !key.hasPrefix("google"), !key.hasPrefix("gcm"), !key.isEmpty
            else { throw Rejection(place, "Invalid data payload key: \(key)") }
            data[key] = text
        }
        return data
    }

    private mutating func readAndroid(_ value: JSONReader.Value) throws(Rejection) {
        guard value.kind == .object else { throw .value("message.android", "AndroidConfig", value) }
        for (name, value) in value.entries {
            let name = name.decodedString ?? ""
            let place = "message.android.\(name)"
            switch name {
            case "priority":
                guard let text = value.string?.lowercased(), text == "normal" || text == "high" else {
                    throw .value(
                        place, "type.googleapis.com/google.firebase.fcm.v1.AndroidConfig.AndroidMessagePriority", value)
                }
                isHigh = text == "high"
            case "ttl":
                guard let seconds = value.string.flatMap(Self.seconds) else {
                    throw .value(place, "type.googleapis.com/google.protobuf.Duration", value)
                }
                guard (0...2_419_200).contains(seconds) else { throw Rejection(place, "Invalid ttl: \(value.text)") }
                ttl = seconds
            case "collapse_key", "collapseKey":
                guard let text = value.decodedString else { throw .value(place, "TYPE_STRING", value) }
                collapseKey = text
            case "data": data = try Self.readData(value, at: place)
            case "direct_boot_ok", "directBootOk", "bandwidth_constrained_ok", "bandwidthConstrainedOk",
                "restricted_satellite_ok", "restrictedSatelliteOk":
                guard value.kind == .boolean else { throw .value(place, "TYPE_BOOL", value) }
            case "notification", "fcm_options", "fcmOptions", "restricted_package_name", "restrictedPackageName": break
            default: throw .unknown(name, at: "message.android")
            }
        }
    }

    /// A duration of protocol buffers: `900s`, or `3.5s` with at most nine digits of fraction.
    private static func seconds(_ text: String) -> Double? {
        guard text.hasSuffix("s") else { return nil }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        let whole = parts[0].drop { $0 == "-" }
        guard parts.count <= 2, parts[0].utf8.count - whole.utf8.count <= 1,
            ([whole] + parts.dropFirst()).allSatisfy({
                !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }),
            parts.count < 2 || parts[1].utf8.count <= 9
        else { return nil }
        return Double(text.dropLast())
    }

    /// Google documents no form. Tokens have letters, digits, `:`, `_` and `-`, and a fid is 22 characters.
    private static func isAddress(_ text: String, _ kind: Kind) -> Bool {
        let bytes = text.utf8
        let isWord = bytes.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x5f, 0x2d: true
            case 0x3a: kind == .token
            default: false
            }
        }
        return switch kind {
        case .token: isWord && (1...4_096).contains(bytes.count)
        case .fid: isWord && bytes.count == 22 && "cdef".contains(text.prefix(1))
        }
    }
}
