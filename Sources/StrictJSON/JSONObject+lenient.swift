/// For documents of others: a member that is absent or of another kind is nil.
extension JSONObject {
    package func text(_ key: String) -> String? { self[key].flatMap { try? $0.string() } }
    package func list(_ key: String) -> [JSONValue] { self[key].flatMap { try? $0.array() } ?? [] }
    package func object(_ key: String) -> JSONObject? { self[key].flatMap { try? $0.object() } }
}
