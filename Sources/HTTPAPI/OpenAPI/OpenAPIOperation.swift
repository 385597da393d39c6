import Answers
import LiveActivity
import Store
import StrictJSON

/// One call in the OpenAPI document: what the table of endpoints says, and the words of `calls.json`.
struct OpenAPIOperation: Sendable {
    enum Body: Sendable { case none, whole, streamed }

    let method: String
    let pattern: String
    let access: Access
    let scopes: [CredentialScope]
    let body: Body
    let answerType: String
    let answers: [AnswerForm]

    /// The call's key in `calls.json`.
    var title: String { "\(method) \(pattern)" }

    private var segments: [Substring] { pattern.split(separator: "/") }
    private var pathParameters: [String] {
        segments.filter { $0.first == "{" }.map { String($0.dropFirst().dropLast()) }
    }

    /// `getPushByPushId`. It has no ending of a file.
    private var id: String {
        let words = segments.filter { $0 != "api" }.flatMap { segment -> [String] in
            guard segment.first == "{" else { return Self.words(segment.prefix { $0 != "." }) }
            return ["By"] + Self.words(segment.dropFirst().dropLast())
        }
        return method.lowercased() + words.joined()
    }

    private static func words(_ text: Substring) -> [String] {
        text.split { "-_".contains($0) }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
    }

    /// - Parameter words: of `calls.json`
    func json(_ words: JSONObject) throws(JSONError) -> JSON {
        var parameters = pathParameters.map { Self.reference("parameters", $0) }
        for parameter in try words["parameters"]?.array() ?? [] {
            let isName = parameter.kind == .string
            parameters.append(isName ? Self.reference("parameters", try parameter.string()) : JSON(parameter))
        }
        return .fields([
            "summary": .string(try words.required("summary").string()),
            "description": try words["description"].map { (text) throws(JSONError) in .string(try text.string()) },
            "tags": [.string(try words.required("tag").string())], "operationId": .string(id),
            "security": .array(security), "parameters": parameters.isEmpty ? nil : .array(parameters),
            "requestBody": try requestBody(words), "responses": try responses(words),
        ])
    }

    private var security: [JSON] {
        let schemes: [String] =
            switch access {
            case .anyone, .unproven: []
            case .master: ["master"]
            case .server: ["app", "master"]
            case .channel, .newChannel, .signedChannel, .ownChannel, .purpose: ["app", "master", "device"]
            }
        return schemes.map { .object([JSON.Member($0, [])]) }
            + scopes.map { ["credential": [.string($0.rawValue)]] }
    }

    private func requestBody(_ words: JSONObject) throws(JSONError) -> JSON? {
        guard let body = words["body"] else { return nil }
        let mayBeEmpty = try words["mayBeEmpty"]?.bool() ?? false
        let isOptional = self.body == .streamed || mayBeEmpty
        let type = self.body == .streamed ? "text/plain" : Answer.jsonType
        return [
            "required": .bool(!isOptional),
            "content": .object([JSON.Member(type, ["schema": try Self.bodySchema(body)])]),
        ]
    }

    /// A schema, or its name, or the name of the schema of one body or of several.
    private static func bodySchema(_ body: JSONValue) throws(JSONError) -> JSON {
        if body.kind == .string { return reference("schemas", try body.string()) }
        guard let name = try body.object()["oneOrList"]?.string() else { return JSON(body) }
        let one = reference("schemas", name)
        let most = try body.object().required("atMost").integer()
        let list: JSON = ["type": "array", "items": one, "minItems": 1, "maxItems": .integer(most)]
        return ["anyOf": [one, list]]
    }

    private func responses(_ words: JSONObject) throws(JSONError) -> JSON {
        let done = JSON.string(try words["done"]?.string() ?? "Done.")
        var responses: [JSON.Member] = []
        for status in Set(answers.map(\.status)).sorted() {
            let schemas = answers.filter { $0.status == status }.compactMap { $0.body?.answerSchema }
            let schema: JSON? = schemas.count > 1 ? ["anyOf": .array(schemas)] : schemas.first
            let content = schema.map { JSON.object([JSON.Member(answerType, ["schema": $0])]) }
            responses.append(JSON.Member("\(status)", .fields(["description": done, "content": content])))
        }
        for (status, response) in try words["responses"]?.object().members ?? [] {
            responses.removeAll { $0.key == status }
            responses.append(JSON.Member(status, JSON(response)))
        }
        var errors: [Int64] = []
        if access != .anyone { errors = [400, 401, 403, 429, 503] + (body == .whole ? [413] : []) }
        for status in try words["errors"]?.array() ?? [] { errors.append(try status.integer()) }
        for status in errors.sorted() {
            responses.append(JSON.Member("\(status)", Self.reference("responses", "Error")))
        }
        return .object(responses)
    }

    static func reference(_ kind: String, _ name: String) -> JSON {
        ["$ref": .string("#/components/\(kind)/\(name)")]
    }
}
