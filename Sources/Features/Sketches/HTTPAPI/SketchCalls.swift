import Answers
import Console
import LiveActivity
import Store
import StrictJSON

/// The sketches of an app's cards, each for one attributes type. The console draws them.
struct SketchCalls: CallGroup {
    private let sketches: NamedRecords

    init(_ parts: GatewayParts) { sketches = parts.store.sketches }

    func list(_ call: Call) async throws -> Answer {
        let found = try await sketches.all(call.app.key)
        return Answer(200, SketchesAnswer(sketches: found.map { ListedSketchAnswer(attributesType: $0.name) }))
    }

    /// Returns the document exactly as it was put.
    func show(_ call: Call) async throws -> Answer {
        guard let document = try await sketches.find(call.app.key, call.attributesType()) else {
            throw APIError.noSuchSketch
        }
        return Answer(200, json: document)
    }

    func set(_ call: Call) async throws -> Answer {
        let type = try call.attributesType()
        let bytes = call.body.collect()
        guard bytes.count <= Sketch.maximumBytes else { throw APIError.bodyTooLarge(limit: Sketch.maximumBytes) }
        let root = try JSONDocument(bytes).root
        _ = try Sketch(root)
        guard try await sketches.set(call.app.key, type, Array(root.raw)) else {
            throw APIError(409, "An app may have \(sketches.maximum) sketches: delete one first.")
        }
        return Answer(200, DoneAnswer())
    }

    func delete(_ call: Call) async throws -> Answer {
        guard try await sketches.delete(call.app.key, call.attributesType()) else { throw APIError.noSuchSketch }
        return .empty
    }
}

extension APIError {
    fileprivate static let noSuchSketch = APIError(404, "This attributes type has no sketch.", code: 40401)
}
