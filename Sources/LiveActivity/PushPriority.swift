/// `apns-priority`. 10 means at once and counts against the device's budget. 5 means when convenient, uncounted.
public enum PushPriority: Int, Sendable, Hashable, CaseIterable {
    case low = 5
    case high = 10
}
