import Answers
import LiveActivity
import StrictJSON

/// The values of a template, by name.
typealias Values = [String: Any]

/// The values that are not nil. A template's section of an absent value is left out.
func values(_ pairs: KeyValuePairs<String, Any?>) -> Values {
    var values: Values = [:]
    for (name, value) in pairs { if let value { values[name] = value } }
    return values
}

/// The values of an entry. An absent one is said too, because a template would look for it around the entry.
func sealed(_ pairs: KeyValuePairs<String, Any?>) -> Values {
    var values: Values = [:]
    for (name, value) in pairs { values[name] = value ?? false }
    return values
}

extension JSONValue {
    /// The text as it was written.
    var text: String { String(decoding: raw, as: UTF8.self) }
}

extension RawJSON {
    var value: JSONValue? { try? JSONDocument(bytes).root }
    var object: JSONObject? { try? value?.object() }
}

extension JSONObject {
    /// The Live Activity of a publish, or the same of another platform.
    var liveActivity: JSONObject? { PostedPush(self)?.activity }
}

/// Numbers and times for people.
enum Shown {
    /// `10,000`
    static func count(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        var out = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { out.append(",") }
            out.append(digit)
        }
        return out
    }

    /// `about 1,872`
    static func approximate(_ number: Int, isGuess: Bool) -> String { (isGuess ? "about " : "") + count(number) }

    /// `1 push`, `10,000 pushes`
    static func count(_ number: Int, _ one: String, _ many: String) -> String {
        "\(count(number)) \(number == 1 ? one : many)"
    }

    /// `about 10,000`: two digits of an estimate. Small ones are as they are.
    static func estimate(_ number: Int) -> String {
        guard number >= 100 else { return count(number) }
        var unit = 1
        while number / unit >= 100 { unit *= 10 }
        return "about \(count((number + unit / 2) / unit * unit))"
    }

    /// A text of the API with its times as the console shows them: `2026-11-21 18:00:00 UTC`.
    static func plain(_ text: String) -> String {
        text.replacing(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z/) { "\($0.1) \($0.2) UTC" }
    }

    /// `Update`
    static func capitalized(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }

    /// `iOS`, `Android`
    static func platform(_ platform: Platform) -> String { platform == .ios ? "iOS" : capitalized(platform.name) }

    /// A time of an answer.
    static func time(_ text: String?, now: Int64?) -> Values? { time(text.flatMap { TimeText.parse($0) }, now: now) }

    /// A time as text, in the form that a script reads, and from now.
    /// - Parameter now: epoch ms; nil: a live part, which must not change with the clock. The script writes `ago`
    ///   there.
    static func time(_ milliseconds: Int64?, now: Int64?) -> Values? {
        milliseconds.map { time in
            let whole = TimeText.plainText(time)
            let text = whole.replacing("T", with: " ") + " UTC"
            return [
                "iso": whole + "Z", "text": text, "ago": now.map { ago(time, $0) } ?? text,
                "lasts": now.map { lasts(time, $0) } ?? text,
            ]
        }
    }

    static func ago(_ time: Int64, _ now: Int64) -> String {
        guard let text = span(time, now) else { return "now" }
        return time <= now ? "\(text) ago" : "in \(text)"
    }

    /// How long something lasts already: `for 4 s`.
    private static func lasts(_ time: Int64, _ now: Int64) -> String { span(time, now) ?? "a moment" }

    /// The time between two moments in words. Nil: less than two seconds.
    private static func span(_ time: Int64, _ now: Int64) -> String? {
        let (difference, overflow) = now.subtractingReportingOverflow(time)
        let seconds = (overflow ? .max : difference.magnitude) / 1_000
        return switch seconds {
        case ..<2: nil
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// `1.2 s`
    static func duration(_ milliseconds: Int64) -> String {
        switch milliseconds {
        case ..<1_000: "\(milliseconds) ms"
        case ..<60_000: "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
        case ..<7_200_000: "\(milliseconds / 60_000) min"
        default: "\(milliseconds / 3_600_000) h"
        }
    }
}
