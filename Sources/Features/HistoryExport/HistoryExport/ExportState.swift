import LiveActivity
import Store
import StrictJSON

/// How far the export of an app has got. A file of the directory holds it, so that files and state are on one disk.
///
/// A push belongs to the hour of the index in which the history shows it. Each hour is walked once, when no push can
/// join it any more. The pushes that are not final then wait, and each round looks at them again.
struct ExportState: Sendable, Hashable {
    static let version: Int64 = 1
    /// How long after the last push may have joined an hour it is walked, ms: a commit may be under way.
    static let margin: Int64 = 300_000

    /// A file that the state counts as exported. It may still have the name of its part.
    struct LastFile: Sendable, Hashable {
        var part: String
        var path: String
    }

    let deployment: String
    /// The hour (since 1970) that is walked next. Nil: nothing was exported yet.
    var next: Int64?
    /// Where the walk through `next` has got.
    var position: IndexPosition?
    /// Earlier hours were walked before Redis's clock was set back. Their pushes may be in files already.
    var again: Int64 = 0
    /// How many files were written, ever.
    var files = 0
    var waiting: [Int64: [PushID]] = [:]
    var last: LastFile?

    /// Begins a round.
    /// - Parameters:
    ///   - now: Redis's time, epoch ms
    ///   - keptSince: no push that ended before is kept, epoch ms
    /// - Returns: the hours that may be walked, and the hours that no run walked and whose pushes have begun to expire
    mutating func begin(now: Int64, keptSince: Int64) -> (walkable: Range<Int64>, missed: Range<Int64>) {
        let oldest = max(0, keptSince / Pushes.hour)
        let end = max(oldest, (now - Self.margin) / Pushes.hour - 1)
        let first = next ?? oldest
        if first > end {
            // The clock was set back, and hours that were walked come once more.
            (again, position) = (max(again, first + (position == nil ? 0 : 1)), nil)
        } else if first < oldest {
            position = nil
        }
        let begin = min(max(first, oldest), end)
        next = begin
        return (begin..<end, first < oldest ? first..<oldest : oldest..<oldest)
    }

    /// Where the files of an hour are, as Hive names partitions.
    static func folders(_ app: AppKey, hour: Int64) -> [String] {
        let time = TimeText.plainText(hour * Pushes.hour)
        return ["app=\(app)", "date=\(time.prefix(10))", "hour=\(time.dropFirst(11).prefix(2))"]
    }
}

extension ExportState {
    var json: JSON {
        JSON.fields([
            "lamplighter_export": .integer(Self.version), "deployment": .string(deployment),
            "next": next.map { .string(Self.text($0)) },
            "position": position.map { position in
                JSON.fields([
                    "slice": .integer(position.slice), "push_id": (position.push?.description).map(JSON.string),
                ])
            },
            "again": again == 0 ? nil : .string(Self.text(again)), "files": .integer(files),
            "waiting": .object(
                waiting.sorted { $0.key < $1.key }.map { hour, pushes in
                    JSON.Member(Self.text(hour), .array(pushes.map { .string($0.description) }))
                }), "last": last.map { JSON.fields(["part": .string($0.part), "path": .string($0.path)]) },
        ])
    }

    /// - Throws: `JSONError`, or the reason as a text
    init(_ bytes: [UInt8]) throws {
        let object = try JSONDocument(bytes).root.object()
        guard try object.required("lamplighter_export").integer() == Self.version else { throw Unreadable.version }
        deployment = try object.required("deployment").string()
        next = try object["next"].map(Self.hour)
        position = try object["position"].map { value in
            let position = try value.object()
            return IndexPosition(
                slice: Int(clamping: try position.required("slice").integer()),
                push: try position["push_id"].map(Self.push))
        }
        again = try object["again"].map(Self.hour) ?? 0
        files = Int(clamping: try object.required("files").integer())
        for member in try object.required("waiting").object().members {
            guard let hour = Self.hour(member.key) else { throw Unreadable.time }
            waiting[hour] = try member.value.array().map(Self.push)
        }
        last = try object["last"].map { value in
            let last = try value.object()
            return LastFile(part: try last.required("part").string(), path: try last.required("path").string())
        }
    }

    private enum Unreadable: String, Error, CustomStringConvertible {
        case version = "another version of Lamplighter wrote it"
        case time = "it holds no hour where one must be"
        case id = "it holds no push id where one must be"
        var description: String { rawValue }
    }

    private static func text(_ hour: Int64) -> String { TimeText.plainText(hour * Pushes.hour) }

    private static func hour(_ text: String) -> Int64? { TimeText.parse(text).map { $0 / Pushes.hour } }

    private static func hour(_ value: JSONValue) throws -> Int64 {
        guard let hour = hour(try value.string()) else { throw Unreadable.time }
        return hour
    }

    private static func push(_ value: JSONValue) throws -> PushID {
        guard let id = PushID(try value.string()) else { throw Unreadable.id }
        return id
    }
}
