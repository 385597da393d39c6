import Answers
import LiveActivity
import StrictJSON

/// The forms that a platform has in bodies and answers.
protocol PlatformBody: Sendable {
    static var platform: Platform { get }
    /// The name of its push service in a sentence.
    static var service: String { get }
    /// The member that is sent of the platform's object in `notification`, and its name in a sentence.
    static var member: (key: String, title: String) { get }
    /// The other members that count.
    static var options: [String] { get }

    /// Reads the platform's object in `notification`.
    /// - Parameter value: its member that is sent
    static func push(
        _ block: JSONObject, _ value: JSONValue, _ common: PublishBody.Common, warnings: inout [String]
    ) throws(JSONError) -> PublishBody.Push
    /// The push as a worker would send it now.
    /// - Parameters:
    ///   - isForBroadcastAlone: whether no token gets it
    ///   - now: epoch milliseconds
    static func preview(
        _ push: PublishBody.Push, tokens: Int?, isForBroadcastAlone: Bool, now: Int64
    ) -> PlatformPreviewAnswer
    /// The platform's object in `notification` with the content that it has of its own.
    static func posted(_ content: PlatformContent, _ name: ActivityName, _ event: ActivityEvent) -> JSON
    /// Reads the token that a follower registers, and the address of its channel where the body gives one.
    static func token(_ body: JSONObject) throws(JSONError) -> (token: PushToken, address: PushToken?)
    /// The field of a follower with a stored token, and its text. Nil: no version writes such a token.
    static func text(_ token: ArraySlice<UInt8>) -> (field: String, text: String)?
}

extension Platform {
    static let bodies: [any PlatformBody.Type] = [LiveActivityBody.self, LiveUpdateBody.self]

    var body: any PlatformBody.Type { Self.bodies.first { $0.platform == self } ?? LiveActivityBody.self }
}
