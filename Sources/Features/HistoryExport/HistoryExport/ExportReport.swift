import LiveActivity
import Store
public import StrictJSON

/// The work of one export of an app.
public struct ExportReport: Sendable, Hashable {
    public var app: String
    public var pushes = 0
    public var files = 0
    /// Pushes that are not final yet, and come in when they are.
    public var waiting = 0
    /// Index hours (since 1970) that expired in Redis before they were exported.
    public var missed = Range<Int64>(uncheckedBounds: (0, 0))
    /// Further pushes of which Redis had no record any more.
    public var gone = 0
    /// All pushes before this time were looked at, epoch ms.
    public var until: Int64 = 0

    public init(app: String) { self.app = app }

    public var lost: String? {
        var parts: [String] = []
        if !missed.isEmpty {
            parts.append(
                "the pushes from \(Self.text(missed.lowerBound)) to \(Self.text(missed.upperBound)) had expired before "
                    + "they were exported")
        }
        if gone > 0 { parts.append("\(gone) pushes were gone from Redis before they were final or exported") }
        return parts.isEmpty ? nil : "\(app): " + parts.joined(separator: "; ")
    }

    public var json: JSON {
        JSON.fields([
            "app": .string(app), "pushes": .integer(pushes), "files": .integer(files), "waiting": .integer(waiting),
            "until": .string(TimeText.text(until)),
            "missed": missed.isEmpty
                ? nil
                : JSON.fields([
                    "from": .string(Self.text(missed.lowerBound)), "to": .string(Self.text(missed.upperBound)),
                ]), "gone": .integer(gone),
        ])
    }

    private static func text(_ hour: Int64) -> String { TimeText.text(hour * Pushes.hour) }
}
