/// An object without repeated keys.
public struct JSONObject: Sendable {
    public let value: JSONValue
    public let members: [(key: String, value: JSONValue)]

    public subscript(_ key: String) -> JSONValue? {
        let place = members.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
        Looks.add(place.map { $0 + 1 } ?? members.count)
        return place.map { members[$0].value }
    }

    public func required(_ key: String) throws(JSONError) -> JSONValue {
        guard let member = self[key] else { throw missing(key) }
        return member
    }

    /// The error for a missing key, with the path that it would have and the object's place.
    public func missing(_ key: String, _ message: String = "is required") -> JSONError {
        JSONError(message: message, path: JSONPath.join(value.path, key), location: value.location)
    }

    /// Throws for the first key that is not in `known`, and suggests the nearest one.
    public func refuseUnknownKeys(known: [String]) throws(JSONError) {
        for (key, value) in members where !known.contains(key) {
            let nearest =
                known.nearest(to: key).map { "; did you mean `\($0)`?" } ?? "; known: \(known.joined(separator: ", "))"
            throw value.keyError("is not a known key here\(nearest)")
        }
    }
}
