import Answers
import Store

extension Endpoint {
    static let sketches: [Endpoint] = [
        Endpoint(
            "GET", "/api/sketches", .master, .read, SketchCalls.list, [.ok(SketchesAnswer.self)], checksNames: true),
        Endpoint(
            "GET", "/api/sketches/{attributes_type}", .master, .read, SketchCalls.show, [.raw], checksNames: true),
        Endpoint(
            "PUT", "/api/sketches/{attributes_type}", .master, .operate, SketchCalls.set, [.ok(DoneAnswer.self)],
            acts: .setSketch),
        Endpoint(
            "DELETE", "/api/sketches/{attributes_type}", .master, .operate, SketchCalls.delete, [.empty],
            acts: .deleteSketch),
    ]
}
