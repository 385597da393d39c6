/// The fate of a token at APNs. Its first byte tells it, because the simulator's faults match the beginning of tokens.
enum Fate: Sendable, Hashable {
    case living
    /// Dead from the start, for this reason.
    case unregistered, badDeviceToken, expired
    /// Dies with its cohort.
    case dying(Int)
    /// Sometimes gets a 410 from long before its registration. This must not remove the token.
    case doubted

    var byte: UInt8 {
        switch self {
        case .living: 0x11
        case .unregistered: 0xd1
        case .badDeviceToken: 0xd2
        case .expired: 0xd3
        case .dying(let cohort): 0xe0 + UInt8(cohort)
        case .doubted: 0xf1
        }
    }

    /// Whether a 410 for this token may be from before its registration.
    var mayOutliveItsEnd: Bool {
        switch self {
        case .doubted, .dying: true
        case .living, .unregistered, .badDeviceToken, .expired: false
        }
    }

    init?(byte: UInt8) {
        switch byte {
        case 0x11: self = .living
        case 0xd1: self = .unregistered
        case 0xd2: self = .badDeviceToken
        case 0xd3: self = .expired
        case 0xe0..<0xe0 + UInt8(Plan.cohorts): self = .dying(Int(byte) - 0xe0)
        case 0xf1: self = .doubted
        default: return nil
        }
    }
}
