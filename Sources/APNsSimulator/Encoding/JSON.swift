private import FoundationEssentials

enum JSON {
    static func decode<Value: Decodable>(_ json: [UInt8], source: String) throws(SimulatorError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(json))
        } catch let error as DecodingError {
            throw .configuration(field: source, describe(error))
        } catch {
            throw .configuration(field: source, "\(error)")
        }
    }

    /// Writes names in snake case. Keys of dictionaries stay as they are.
    static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { Array($0) } ?? []
    }

    /// A text as a JSON string.
    static func quoted(_ text: String) -> String { String(decoding: encode(text), as: UTF8.self) }

    private static func describe(_ error: DecodingError) -> String {
        let context: DecodingError.Context
        switch error {
        case .typeMismatch(_, let at), .valueNotFound(_, let at), .dataCorrupted(let at): context = at
        case .keyNotFound(let key, let at): return "\(path(at.codingPath + [key])): is missing"
        @unknown default: return "\(error)"
        }
        let place = path(context.codingPath)
        return place.isEmpty ? context.debugDescription : "\(place): \(context.debugDescription)"
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }.joined(separator: ".")
    }
}
