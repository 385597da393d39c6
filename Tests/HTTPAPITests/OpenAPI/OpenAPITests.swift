import Answers
import Foundation
import JSONSchema
import Store
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// The OpenAPI document says what the table of endpoints and the examples of docs/api.md say.
@Suite struct OpenAPITests {
    private static let file = Repository.root.appending(path: "docs/openapi.json")
    private let whole: JSONValue
    private let document: JSONObject

    init() throws {
        whole = try JSONDocument(OpenAPIDocument.json(Endpoint.all.map(\.operation)).bytes).root
        document = try whole.object()
    }

    @Test func `docs has the document that the gateway serves`() throws {
        let text = Self.layout(whole) + "\n"
        if ProcessInfo.processInfo.environment["UPDATE_OPENAPI"] == "1" {
            try Data(text.utf8).write(to: Self.file)
        }
        let file = String(decoding: try Data(contentsOf: Self.file), as: UTF8.self)
        #expect(file == text, "UPDATE_OPENAPI=1 bin/test --filter OpenAPITests writes docs/openapi.json")
    }

    @Test func `each reference leads to something, and each schema is referred to`() throws {
        let text = String(decoding: whole.raw, as: UTF8.self)
        let references = Set(text.matches(of: #/"#\/components\/(\w+)\/(\w+)"/#).map { "\($0.1)/\($0.2)" })
        var things: Set<String> = []
        for (kind, members) in try document.required("components").object().members {
            for (name, _) in try members.object().members { things.insert("\(kind)/\(name)") }
        }
        #expect(references.subtracting(things).isEmpty)
        // A line of a bulk call and an outgoing event are named in words alone.
        let unused = things.subtracting(references).filter { !$0.hasPrefix("securitySchemes") }
        #expect(unused.sorted() == ["schemas/ChannelLine"])
    }

    @Test func `the words of no call are left over`() throws {
        let described = try OpenAPIDocument.words().keys
        #expect(described.sorted() == Endpoint.all.map { "\($0.method) \($0.pattern)" }.sorted())
    }

    /// JSON with line ends: a value that fits on a line stays on it.
    private static func layout(_ value: JSONValue, indent: String = "", key: String = "") -> String {
        let one = compact(value)
        guard indent.count + key.count + one.count > 119 else { return key + one }
        let inner = indent + "  "
        if let members = try? value.object().members {
            let lines = members.map { inner + layout($0.value, indent: inner, key: "\(JSON.string($0.key).text): ") }
            return "\(key){\n\(lines.joined(separator: ",\n"))\n\(indent)}"
        }
        guard let entries = try? value.array() else { return key + one }
        return "\(key)[\n\(entries.map { inner + layout($0, indent: inner) }.joined(separator: ",\n"))\n\(indent)]"
    }

    private static func compact(_ value: JSONValue) -> String {
        if let members = try? value.object().members {
            return "{\(members.map { "\(JSON.string($0.key).text): \(compact($0.value))" }.joined(separator: ", "))}"
        }
        if let entries = try? value.array() { return "[\(entries.map(compact).joined(separator: ", "))]" }
        return String(decoding: value.raw, as: UTF8.self)
    }

    @Test func `it has exactly the endpoints of the gateway`() throws {
        var described: Set<String> = []
        for (path, methods) in try document.required("paths").object().members {
            for (method, _) in try methods.object().members { described.insert("\(method.uppercased()) \(path)") }
        }
        #expect(described == Set(Endpoint.all.map { "\($0.method) \($0.pattern)" }))
    }

    @Test func `it may be cached, and is not sent again`() async throws {
        try await GatewayFixture.run { gateway in
            let first = try await gateway.send("GET", "/openapi.json", user: nil)
            #expect(first.status == 200 && first.header("cache-control") == "public, max-age=3600")
            let tag = try #require(first.header("etag"))
            for known in [tag, "W/\(tag)", "\"x\", \(tag)"] {
                let again = try await gateway.send(
                    "GET", "/openapi.json", user: nil, headers: [("If-None-Match", known)])
                #expect(again.status == 304 && again.text.isEmpty && again.header("etag") == tag)
            }
            let other = try await gateway.send("GET", "/openapi.json", user: nil, headers: [("If-None-Match", "\"x\"")])
            #expect(other.status == 200)
        }
    }

    @Test(arguments: Endpoint.all.map { "\($0.method) \($0.pattern)" })
    func `an operation names its path's parameters, its secret and its errors`(_ title: String) throws {
        let endpoint = try #require(Endpoint.all.first { "\($0.method) \($0.pattern)" == title })
        let operation = try operation(endpoint)
        let parameters = try (operation["parameters"]?.array() ?? []).map { try resolved($0).object() }
        let inPath = try parameters.filter { try $0.required("in").string() == "path" }
            .map { try $0.required("name").string() }
        #expect(inPath == endpoint.segments.compactMap { if case .parameter(let name) = $0 { name } else { nil } })
        // A credential may open it by one of several scopes.
        let all = try operation.required("security").array().flatMap { try $0.object().members.map(\.0) }
        let schemes = all.enumerated().filter { !all[..<$0.offset].contains($0.element) }.map(\.element)
        let hasScope = endpoint.scope != nil
        #expect(schemes == Self.schemes(endpoint.access).filter { hasScope || $0 != "credential" }, "\(schemes)")
        let scopes = try operation.required("security").array().flatMap { scheme in
            try scheme.object()["credential"]?.array().map { try $0.string() } ?? []
        }
        #expect(scopes == endpoint.scopes.map(\.rawValue))
        #expect(endpoint.scope.map(endpoint.scopes.contains) ?? scopes.isEmpty)
        #expect((operation["requestBody"] != nil) == (endpoint.body != .none) || endpoint.pattern.hasSuffix("/retry"))
        let statuses = try operation.required("responses").object().members.map(\.0)
        #expect(statuses.contains { $0.hasPrefix("2") })
        #expect(statuses.contains("401") == (endpoint.access != .anyone))
    }

    private static func schemes(_ access: Access) -> [String] {
        switch access {
        case .anyone, .unproven: []
        case .master: ["master", "credential"]
        case .server: ["app", "master", "credential"]
        case .channel, .newChannel, .signedChannel, .ownChannel, .purpose: ["app", "master", "device", "credential"]
        }
    }

    @Test func `every example's body and answer match their schemas`() throws {
        var compared = 0
        for example in try DocumentationTests.examples() {
            guard let call = Call(example.script), let endpoint = call.endpoint else { continue }
            let operation = try operation(endpoint)
            if let body = call.body, let value = try? JSONDocument(body).root,
                let schema = try operation["requestBody"].map({ try schema(in: $0) }) ?? nil
            {
                #expect(schema.firstOffence(in: value) == nil, "docs/api.md:\(example.line), the body")
                compared += 1
            }
            guard let answer = example.answer else { continue }
            let response = try #require(
                try operation.required("responses").object()["\(example.status)"],
                "docs/api.md:\(example.line): \(endpoint.pattern) answers \(example.status)")
            guard let schema = try schema(in: try resolved(response)) else { continue }
            let offence = try schema.firstOffence(in: JSONDocument(answer).root)
            #expect(offence == nil, "docs/api.md:\(example.line), the answer")
            compared += 1
        }
        #expect(compared >= 40, "\(compared)")
    }

    // MARK: Reading the document

    private func operation(_ endpoint: Endpoint) throws -> JSONObject {
        try document.required("paths").object().required(endpoint.pattern).object()
            .required(endpoint.method.lowercased()).object()
    }

    /// The value itself, or what its `$ref` names.
    private func resolved(_ value: JSONValue) throws -> JSONValue {
        guard let reference = try value.object()["$ref"]?.string() else { return value }
        let parts = reference.split(separator: "/").dropFirst()
        return try parts.reduce(whole) {
            try $0.object().required(String($1))
        }
    }

    /// The first schema of a request's or response's content. Nil if it has none, or one for text.
    private func schema(in value: JSONValue) throws -> JSONSchema? {
        guard let content = try value.object()["content"]?.object().members.first?.1 else { return nil }
        let schema = try content.object().required("schema")
        let definitions = try document.required("components").object().required("schemas")
        let body = schema.raw.dropFirst().first == UInt8(ascii: "}") ? "" : ","
        var text = #"{"$defs":\#(String(decoding: definitions.raw, as: UTF8.self))"# + body
        text += String(decoding: schema.raw.dropFirst(), as: UTF8.self)
        // Our own validator knows definitions of a schema, and no patterns.
        text.replace("#/components/schemas/", with: "#/$defs/")
        text.replace(#/"pattern": "[^"]*",?/#, with: "")
        return try JSONSchema(JSONDocument(text).root)
    }

    /// The call of an example.
    private struct Call {
        var method: String
        var path: String
        var body: String?

        init?(_ script: String) {
            guard let last = script.range(of: "curl ", options: .backwards) else { return nil }
            let call = script[last.lowerBound...]
            guard let host = call.firstRange(of: "$HOST") else { return nil }
            path = String(call[host.upperBound...].prefix { !"\"?".contains($0) })
            if let data = call.firstRange(of: "-d '") {
                body = String(call[data.upperBound...].prefix { $0 != "'" })
            }
            let hasBody = body != nil || call.contains("--data-binary")
            method = call.firstMatch(of: #/-X ([A-Z]+)/#).map { String($0.1) } ?? (hasBody ? "POST" : "GET")
        }

        var endpoint: Endpoint? {
            let components = path.split(separator: "/").map(String.init)
            return Endpoint.all.first { $0.method == method && $0.matches(components) }
        }
    }
}
