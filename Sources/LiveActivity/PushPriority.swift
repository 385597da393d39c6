/// `apns-priority`. 10 is sent at once and counts against the device's budget. 5 is sent when convenient.
public enum PushPriority: Int, Sendable, Hashable, CaseIterable {
    case low = 5
    case high = 10
}
