/// The Android part of a plan: the names that phones follow, some of them beside devices on iOS, the changes of phones,
/// and the faults of FCM.
struct AndroidPlan: Sendable {
    /// A name that goes from a start over updates to an end, once or twice.
    struct Name: Sendable {
        var index: Int
        /// The first phones follow the name.
        var phones: Int
        /// How many devices follow it on iOS. 0: Android alone.
        var devices: Int
        var lives: [Life] = []
    }

    struct Life: Sendable {
        /// When the phones follow and the cards start, ms of the run.
        var start: Int
        var updates: [Planned<Update>] = []
        /// Nil: the name is open when the run ends.
        var end: Int?
    }

    struct Update: Sendable {
        var targets: Targets
        var mayBeReplaced: Bool
        var priority: Int
    }

    enum Targets: String, Sendable {
        case both, ios, android
        var hasAndroid: Bool { self != .ios }
        var hasIOS: Bool { self != .android }
    }

    enum Change: Sendable {
        /// A newer address. FCM may call the old one dead at once.
        case rotate(Int, oldDies: Bool)
        /// A PUT of the channel without its address, and milliseconds later one with it.
        case suspend(Int, for: Int)
        /// FCM calls the address dead. After these milliseconds the app tells a new one; nil: never.
        case die(Int, back: Int?)
        case unfollow(Int)
    }

    var names: [Name] = []
    var phones = 0
    var changes: [Planned<Change>] = []
    var faults: [Planned<APNsFault>] = []

    /// Phones and devices of each name. All phones follow the first name, which has more than a page of them.
    private static let sizes = [(260, 150), (24, 8), (3, 1), (60, 0), (2, 0)]

    /// - Parameter first: the index of the first name. No other name of the run has it or a greater one.
    init(from first: Int, _ milliseconds: Int, _ seed: UInt64) {
        var random = SeededRandom(seed, "android")
        for (offset, size) in Self.sizes.enumerated() {
            var name = Name(index: first + offset, phones: size.0, devices: size.1)
            name.lives = Self.lives(name, milliseconds, &random)
            names.append(name)
        }
        phones = Self.sizes.map(\.0).max() ?? 0
        var at = random.number(500...2_000)
        while at < milliseconds - 1_000 {
            changes.append(Planned(at: at, seed: random.next(), what: Self.change(&random)))
            at += random.number(300...1_500)
        }
        at = random.number(1_000...3_000)
        while at < milliseconds - 1_000 {
            let length = min(random.number(800...5_000), milliseconds - at)
            faults.append(Planned(at: at, seed: random.next(), what: Self.fault(length, &random)))
            at += length + random.number(500...4_000)
        }
    }

    private static func lives(_ name: Name, _ milliseconds: Int, _ random: inout SeededRandom) -> [Life] {
        let every = name.phones > 200 ? 3_500 : 2_000
        var ends = (0..<random.number(0...2)).map { _ in random.number(milliseconds / 4...milliseconds * 9 / 10) }
        ends.sort()
        var lives: [Life] = []
        var start = random.number(100...1_500)
        for end in ends + [milliseconds] where end - start > 4_000 {
            var life = Life(start: start, end: end < milliseconds ? end : nil)
            var at = start + random.number(500...every)
            while at < end {
                let targets: Targets =
                    name.devices == 0 ? .android : random.pick([(6, .both), (1, .ios), (2, .android)])
                let update = Update(
                    targets: targets, mayBeReplaced: !random.chance(0.15), priority: random.chance(0.7) ? 10 : 5)
                life.updates.append(Planned(at: at, seed: random.next(), what: update))
                at += random.chance(0.25) ? random.number(1...300) : random.number(every / 2...every * 3 / 2)
            }
            lives.append(life)
            start = end + random.number(500...2_000)
        }
        return lives
    }

    private static func change(_ random: inout SeededRandom) -> Change {
        let few = random.number(1...3)
        let oldDies = random.chance(0.5)
        let away = random.number(500...8_000)
        return random.pick([
            (5, .rotate(few, oldDies: oldDies)), (3, .suspend(few, for: away)),
            (2, .die(few, back: random.chance(0.8) ? away : nil)), (2, .unfollow(1)),
        ])
    }

    private static func fault(_ length: Int, _ random: inout SeededRandom) -> APNsFault {
        let share = "0.\(random.number(1...4))"
        let count = random.number(20...300)
        let delivers = random.chance(0.5)
        func when(_ title: String, _ faults: String) -> APNsFault {
            APNsFault(title: title, faults: faults, doubts: false, milliseconds: length)
        }
        return random.pick([
            (2, when("429, Retry-After 1", #""rejections":{"QUOTA_EXCEEDED":0.02},"retry_after_s":1"#)),
            (2, when("UNAVAILABLE", #""rejections":{"UNAVAILABLE":\#(share)}"#)),
            (1, when("all UNAVAILABLE, Retry-After 2", #""reject_all":"UNAVAILABLE","retry_after_s":2"#)),
            (2, when("503 without JSON", #""rejections":{"NOT_JSON":0.1,"EMPTY_BODY":0.1},"retry_after_s":1"#)),
            (1, when("INTERNAL", #""rejections":{"INTERNAL":\#(share)},"retry_after_s":1"#)),
            (1, when("401 once", #""expire_next":1"#)),
            (1, when("no access tokens", #""token_error":"unavailable","expire_next":1"#)),
            (2, when("GOAWAY after \(count)", #""goaway_after":\#(count)"#)),
            (2, when("abrupt GOAWAY after \(count)", #""goaway_after":\#(count),"goaway_mode":"abrupt""#)),
            (1, when("closed after \(count)", #""close_after":\#(count)"#)),
            (1, when("connections refused", #""refuse_connections":true,"close_after":\#(count)"#)),
            (2, when("resets", #""reset_share":0.05,"reset_delivers":\#(delivers)"#)),
            (2, when("silence now and then", #""stall_share":0.01,"stall_delivers":\#(delivers)"#)),
            (1, when("silence after \(count)", #""stall_after":\#(count)"#)),
            (2, when("slow", #""latency_ms":\#(count),"latency_jitter_ms":\#(count)"#)),
            (4, when("messages out of order", #""reorder_share":0.3,"reorder_ms":1500"#)),
        ])
    }

    /// The plan as text.
    var lines: [(at: Int, text: String)] {
        var lines: [(at: Int, text: String)] = []
        for name in names {
            let title = "chaos-\(name.index)"
            lines.append((0, "\(title): \(name.phones) phones, \(name.devices) devices on iOS"))
            for life in name.lives {
                lines.append((life.start, "\(title): a start on Android"))
                for planned in life.updates { lines.append((planned.at, "\(title): \(planned.what)")) }
                if let end = life.end { lines.append((end, "\(title): an end for both")) }
            }
        }
        for planned in changes { lines.append((planned.at, "phones: \(planned.what)")) }
        for planned in faults {
            lines.append((planned.at, "FCM for \(planned.what.milliseconds) ms: \(planned.what.title)"))
        }
        return lines
    }
}
