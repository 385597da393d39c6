import Answers
import LiveActivity
import Store
import StrictJSON

/// The OpenAPI document of all calls. It is made from the table of endpoints, the types of their answers, the words of
/// `calls.json`, and `shared.json`: what the calls share, and the bodies of requests. A feature has a file with `tags`,
/// `calls`, `schemas` and `parameters` of its own.
enum OpenAPIDocument {
    /// The bodies that no call answers as a whole.
    private static let others: [any AnswerBody.Type] = [ErrorAnswer.self, OutgoingEventAnswer.self]

    /// Words that an enumeration has.
    private static let enumerations: [JSON.Member] = [
        words("PushState", PushState.allCases.map(\.rawValue)),
        words("EventKind", OutgoingEvent.Kind.allCases.map(\.rawValue)),
        words("ActionKind", ActionKind.all.map(\.rawValue)),
        words("Scope", CredentialScope.all.map(\.rawValue)),
    ]

    private static func words(_ name: String, _ words: [String]) -> JSON.Member {
        JSON.Member(name, ["type": "string", "enum": .array(words.map(JSON.string))])
    }

    static func json(_ operations: [OpenAPIOperation]) throws(JSONError) -> JSON {
        let words = try words()
        var paths: [JSON.Member] = []
        for operation in operations {
            guard let call = words[operation.title] else { preconditionFailure("no words for \(operation.title)") }
            let described = try operation.json(call)
            let member = JSON.Member(operation.method.lowercased(), described)
            if let place = paths.firstIndex(where: { $0.key == operation.pattern }) {
                paths[place].value.append(member.key, member.value)
            } else {
                paths.append(JSON.Member(operation.pattern, .object([member])))
            }
        }
        let shared = try JSONDocument(PackageResources.shared_json).root.object()
        var members: [JSON.Member] = []
        for (key, value) in shared.members {
            if key == "components" { members.append(JSON.Member("paths", .object(paths))) }
            let written: JSON =
                switch key {
                case "components": try components(value.object(), operations)
                case "tags": try tags(value.array())
                default: JSON(value)
                }
            members.append(JSON.Member(key, written))
        }
        return .object(members)
    }

    /// The words of each call, by its method and pattern.
    static func words() throws(JSONError) -> [String: JSONObject] {
        let core = try JSONDocument(PackageResources.calls_json).root.object()
        var words: [String: JSONObject] = [:]
        for calls in try [core] + ofFeatures().compactMap({ $0.object("calls") }) {
            for (title, call) in calls.members { words[title] = try call.object() }
        }
        return words
    }

    private static func tags(_ shared: [JSONValue]) throws(JSONError) -> JSON {
        var tags = shared
        for feature in try ofFeatures() { tags += try feature["tags"]?.array() ?? [] }
        return .array(tags.map { JSON($0) })
    }

    private static func ofFeatures() throws(JSONError) -> [JSONObject] {
        var found: [JSONObject] = []
        for file in PackageResources.files where file.name.hasSuffix(".json") {
            if ["calls.json", "shared.json"].contains(file.name) { continue }
            found.append(try JSONDocument(file.bytes).root.object())
        }
        return found
    }

    private static func components(
        _ shared: JSONObject, _ operations: [OpenAPIOperation]
    ) throws(JSONError) -> JSON {
        var named: [String: JSON] = [:]
        for body in others + operations.flatMap(\.answers).compactMap(\.body) { add(body, to: &named) }
        let answers = named.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value) }
        var members: [JSON.Member] = []
        let features = try ofFeatures()
        for (key, value) in shared.members {
            var own = try value.object().members
            for feature in features { own += feature.object(key)?.members ?? [] }
            let written = own.map { JSON.Member($0.key, JSON($0.value)) }
            members.append(JSON.Member(key, .object(key == "schemas" ? written + enumerations + answers : written)))
        }
        return .object(members)
    }

    /// Adds the schemas of a body and of all bodies in it that have names.
    private static func add(_ body: any AnswerBody.Type, to named: inout [String: JSON]) {
        if let name = body.schemaName {
            guard named[name] == nil else { return }
            named[name] = body.definition
        }
        for part in body.parts { add(part, to: &named) }
    }
}
