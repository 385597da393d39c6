import LiveActivity
import StrictJSON

/// A sketch with the values of one content state, for the template.
struct SketchDrawing {
    /// Emoji for the symbols that cards use most. The app has Apple's; a page shows others by their name.
    private static let symbols = [
        "soccerball": "⚽️", "sportscourt": "🏟️", "basketball": "🏀", "football": "🏈", "baseball": "⚾️", "tennisball": "🎾",
        "trophy": "🏆", "medal": "🏅", "flag": "🚩", "flag.checkered": "🏁", "bicycle": "🚲", "car": "🚗", "bus": "🚌",
        "tram": "🚊", "airplane": "✈️", "airplane.departure": "🛫", "airplane.arrival": "🛬", "ferry": "⛴️",
        "box.truck": "🚚", "shippingbox": "📦", "bag": "🛍️", "cart": "🛒", "takeoutbag.and.cup.and.straw": "🥡",
        "fork.knife": "🍴", "cup.and.saucer": "☕️", "flame": "🔥", "bolt": "⚡️", "timer": "⏱️", "clock": "🕐", "alarm": "⏰",
        "hourglass": "⏳", "bell": "🔔", "star": "⭐️", "heart": "❤️", "checkmark": "✓", "checkmark.circle": "✅",
        "xmark": "✕", "exclamationmark.triangle": "⚠️", "house": "🏠", "mappin": "📍", "location": "📍", "person": "👤",
        "phone": "📞", "cloud": "☁️", "cloud.rain": "🌧️", "sun.max": "☀️", "moon": "🌙", "snowflake": "❄️", "drop": "💧",
        "music.note": "🎵", "play": "▶️", "pause": "⏸️", "arrow.up": "↑", "arrow.down": "↓", "arrow.right": "→",
        "arrow.left": "←",
    ]
    /// Seconds from 1970 to 2001, where Swift's dates begin.
    private static let referenceDate = 978_307_200.0
    private static let mostCharacters = 120

    let state: JSONObject?
    let attributes: JSONObject?
    /// Epoch ms.
    let now: Int64

    func drawn(_ sketch: Sketch) -> Values {
        values([
            "background": sketch.background.map { "s-on-\($0)" } ?? "", "part": drawn(sketch.card),
            "leadingPart": sketch.leading.map(drawn), "trailingPart": sketch.trailing.map(drawn),
        ])
    }

    /// Each value has all keys, because the template would look for an absent one in the part around it.
    private func drawn(_ part: Sketch.Part) -> Values {
        var shown: Values = [
            "look": part.look.joined(separator: " "), "isRows": false, "isColumns": false, "parts": [Values](),
            "isText": false, "isSymbol": false, "isProgress": false, "isTimer": false, "isPlain": false, "text": "",
            "ago": "", "iso": "",
        ]
        switch part.content {
        case .rows(let parts): (shown["isRows"], shown["parts"]) = (true, parts.map(drawn))
        case .columns(let parts): (shown["isColumns"], shown["parts"]) = (true, parts.map(drawn))
        case .text(let pieces): (shown["isText"], shown["text"]) = (true, text(pieces))
        case .symbol(let pieces):
            let name = text(pieces)
            let plain = name.hasSuffix(".fill") ? String(name.dropLast(5)) : name
            (shown["isSymbol"], shown["text"]) = (true, Self.symbols[name] ?? Self.symbols[plain] ?? name)
            shown["isPlain"] = Self.symbols[name] == nil && Self.symbols[plain] == nil
        case .progress(let pieces, let whole):
            (shown["isProgress"], shown["text"]) = (true, "\(percent(text(pieces), of: whole))")
        case .timer(let pieces):
            let text = text(pieces)
            guard let time = Self.time(text), let times = Shown.time(time, now: now) else {
                (shown["isText"], shown["text"]) = (true, text)
                break
            }
            shown.merge(times) { $1 }
            shown["isTimer"] = true
        }
        return shown
    }

    private func text(_ pieces: [Sketch.Piece]) -> String {
        let text = pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .field(let names): value(names) ?? "–"
            }
        }.joined()
        return text.count <= Self.mostCharacters ? text : text.prefix(Self.mostCharacters - 1) + "…"
    }

    /// A member of the content state, or with `attributes.` before it one of the attributes, as far as these are known.
    private func value(_ names: [String]) -> String? {
        let isAttribute = names[0] == "attributes" && state?["attributes"] == nil
        var object = isAttribute ? attributes : state
        var names = isAttribute ? names.dropFirst() : names[...]
        while names.count > 1, let name = names.popFirst() { object = object?.object(name) }
        guard let name = names.first, let value = object?[name] else { return nil }
        switch value.kind {
        case .string: return try? value.string()
        case .bool: return (try? value.bool()) == true ? "yes" : "no"
        case .number: return value.text
        case .null, .array, .object: return nil
        }
    }

    private func percent(_ text: String, of whole: Double?) -> Int {
        guard let number = Double(text), number.isFinite else { return 0 }
        let share = number / (whole ?? (number > 1 ? 100 : 1)) * 100
        return share.isFinite ? Int(min(100, max(0, share))) : 0
    }

    /// Epoch ms of a time as apps write them: ISO 8601, Unix seconds or milliseconds, or Swift's own seconds.
    private static func time(_ text: String) -> Int64? {
        if let time = TimeText.parse(text) { return time }
        guard let number = Double(text), (1e8..<1e13).contains(number) else { return nil }
        return number < 1e9
            ? Int64((number + referenceDate) * 1_000) : number < 1e11 ? Int64(number * 1_000) : Int64(number)
    }
}

extension CardDrawing {
    /// Draws cards by the sketch of their type. Nil: the type has no sketch, or one that only a newer version can read.
    static let sketches: Finder = { visit, type in
        guard let document: [UInt8] = try? await visit.find("/api/sketches/\(Form.encoded(type))"),
            let root = try? JSONDocument(document).root, let sketch = try? Sketch(root)
        else { return nil }
        return CardDrawing(sketch, visit.console.templates)
    }

    init(_ sketch: Sketch, _ templates: Templates) {
        self.init { card in
            var shown = SketchDrawing(
                state: try? card.state?.object(), attributes: card.attributes, now: card.now
            ).drawn(sketch)
            shown["type"] = card.type
            if card.isEnd { shown["isEnd"] = true }
            return templates.render("sketch", shown)
        }
    }
}
