import LiveActivity
import StrictJSON

/// Another service's API whose clients may call Lamplighter, as far as a feature knows it. `ofFeatures` lists them.
struct ForeignAPI: Sendable {
    /// The objects of a push that have keys.
    enum Place: Sendable, Hashable { case push, options, notification, block(Platform) }

    /// A push object, and two objects in it.
    struct Push {
        let body: JSONObject
        let notification: JSONObject
        let activity: JSONObject
    }

    typealias Near = (method: String, pattern: String)

    /// The keys of its pushes that Lamplighter does not act on.
    var keys: [Place: [ForeignKey]] = [:]
    /// Looks at a push that is right otherwise. It may warn or refuse.
    var check: @Sendable (Push, _ warnings: inout [String]) throws(JSONError) -> Void = { _, _ throws(JSONError) in }
    /// The text of the 404 for a call of this API that Lamplighter does not serve. Nil: it is no such call.
    /// - Parameter near: the endpoint of this path; with another method, if there is none with this one
    var refusal: @Sendable (_ method: String, _ components: [String], _ near: Near?) -> String? = { _, _, _ in nil }

    static func keys(_ place: Place) -> [ForeignKey] { keysByPlace[place] ?? [] }

    private static let keysByPlace = ofFeatures.reduce(into: [:]) { all, api in all.merge(api.keys) { $0 + $1 } }
}
