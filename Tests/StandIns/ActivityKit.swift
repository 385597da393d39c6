// A stand-in for Apple's declarations, written after developer.apple.com/documentation/activitykit. It only type-checks
// LamplighterKit and the app of docs/ios.md on Linux; nothing here runs. `Activity` is not Sendable here, though it may
// be in Apple's SDK, so that the code depends on neither.
public import Foundation

public protocol ActivityAttributes: Codable {
    associatedtype ContentState: Codable, Hashable
}

public enum ActivityState: Codable, Hashable, Sendable {
    case active
    case ended
    case dismissed
    case stale
    case pending
}

public struct ActivityContent<State: Codable & Hashable> {
    public var state: State
    public var staleDate: Date?
    public var relevanceScore: Double

    public init(state: State, staleDate: Date?, relevanceScore: Double = 0) { fatalError() }
}

public struct PushType: Sendable {
    public static let token = PushType()
    public static func channel(_: String) -> PushType { fatalError() }
}

public struct Updates<Element>: AsyncSequence {
    public struct AsyncIterator: AsyncIteratorProtocol {
        public mutating func next() async -> Element? { fatalError() }
    }
    public func makeAsyncIterator() -> AsyncIterator { fatalError() }
}

public class Activity<Attributes: ActivityAttributes>: Identifiable {
    public typealias ContentState = Attributes.ContentState

    public let id: String
    public let attributes: Attributes

    init() { fatalError() }

    public var content: ActivityContent<ContentState> { fatalError() }
    public var activityState: ActivityState { fatalError() }
    public var pushToken: Data? { fatalError() }
    public var pushTokenUpdates: Updates<Data> { fatalError() }
    public var contentUpdates: Updates<ActivityContent<ContentState>> { fatalError() }
    public var activityStateUpdates: Updates<ActivityState> { fatalError() }
    public static var activities: [Activity<Attributes>] { fatalError() }
    public static var activityUpdates: Updates<Activity<Attributes>> { fatalError() }
    public static var pushToStartToken: Data? { fatalError() }
    public static var pushToStartTokenUpdates: Updates<Data> { fatalError() }

    public static func request(
        attributes: Attributes, content: ActivityContent<ContentState>, pushType: PushType? = nil
    ) throws -> Activity<Attributes> { fatalError() }
}

public final class ActivityAuthorizationInfo: Sendable {
    public init() { fatalError() }
    public var areActivitiesEnabled: Bool { fatalError() }
    public var frequentPushesEnabled: Bool { fatalError() }
    public var frequentPushEnablementUpdates: Updates<Bool> { fatalError() }
}

// Parts of Apple's Foundation that the one on Linux lacks.

extension ProcessInfo {
    public func performExpiringActivity(withReason: String, using: @escaping @Sendable (Bool) -> Void) { fatalError() }
}

extension FileManager {
    public func containerURL(forSecurityApplicationGroupIdentifier: String) -> URL? { fatalError() }
}
