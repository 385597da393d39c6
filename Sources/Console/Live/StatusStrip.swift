import Answers

/// The state of the whole app now: a pause, alarms, workers, and decisions that wait. Every page of the app shows it.
struct StatusStrip: Sendable {
    /// Nil: the page is of no app.
    let state: AppState?

    init(_ state: AppState? = nil) { self.state = state }

    var alarms: [AppState.Alarm] { state?.alarms ?? [] }

    private var isPaused: Bool { state?.pauses?.contains { $0.name == nil } ?? false }

    private var isWithoutWorker: Bool { state?.workers.map { !$0.contains(where: \.isAtWork) } ?? false }

    /// Whether nothing of the app is sent now.
    var isHalted: Bool { isPaused || isWithoutWorker }

    /// The pause of one name, in a sentence.
    func obstacle(of name: String) -> String? {
        guard !isPaused, state?.pauses?.contains(where: { $0.name == name }) == true else { return nil }
        return "The name is paused: a push is accepted and kept, and goes out once the name is resumed."
    }

    /// The words before the sentence of a push that does not go out at once.
    func waitsFor(_ name: String) -> String? {
        if isPaused { return "Once the app is resumed" }
        return obstacle(of: name).map { _ in "Once the name is resumed" }
    }

    /// The strip of a page.
    /// - Parameters:
    ///   - now: epoch ms; nil: a live part, which must not change with the clock
    ///   - isShort: several alarms share a line, because the page is about something else
    func strip(now: Int64?, isShort: Bool = false) -> Values {
        guard let state else { return [:] }
        guard let pauses = state.pauses else { return ["unknown": true] }
        let pause = pauses.first { $0.name == nil }
        let told = alarms.filter { $0.known == nil }
        let isOneLine = isShort && told.count > 1
        let lines = MenuEntry.ofFeatures.flatMap(\.waiting).compactMap { line -> Values? in
            guard let count = state.waiting[line.place], count > 0 else { return nil }
            return ["words": Shown.count(count, line.one, line.many), "path": line.place, "link": line.link]
        }
        return values([
            "pause": pause.map { ["since": Shown.time($0.since, now: now) as Any] as Values },
            "noWorker": isWithoutWorker ? true : nil,
            "lines": lines, "hasLines": lines.isEmpty ? nil : true,
            "several": isOneLine
                ? ["count": "\(told.count)", "kinds": told.map(\.title).joined(separator: ", ")] as Values
                : nil,
            "alarms": (isOneLine ? [] : told).map { alarm in
                values([
                    "kind": alarm.title, "reason": alarm.plainReason, "since": Shown.time(alarm.since, now: now),
                ])
            },
        ])
    }

    /// The number beside a page in the navigation.
    func badge(_ path: String) -> Int {
        switch path {
        case "/console/alarms": alarms.count { $0.known == nil }
        case "/console/dead": state?.deadLetters ?? 0
        case "/console/quarantine": state?.quarantinedNames ?? 0
        default:
            (state?.waiting ?? [:]).reduce(0) { $0 + ($1.key.prefix { $0 != "?" } == path ? $1.value : 0) }
        }
    }
}

extension AppState.Alarm {
    /// The reason without the command that a shell would need: the page of the alarm leads to the same.
    var plainReason: String? { reason?.replacing(/; see `[^`]*`/, with: "") }
}
