import Foundation

/// A time as a person writes it: `+10m`, epoch seconds, or a date and time in a given zone or in this machine's.
struct ScheduleTime: Equatable {
    /// Epoch seconds.
    let seconds: Int

    /// The API's form, in UTC.
    var text: String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
    }

    /// Reads a time.
    ///
    /// - Parameters:
    ///   - text: the time as written.
    ///   - now: epoch seconds, for relative times.
    ///   - zone: used if the text has no zone.
    /// - Throws: also for a local time that clocks skip or show twice when they change.
    static func parse(_ text: String, now: Int, zone: TimeZone = .current) throws(ScheduleTimeError) -> ScheduleTime {
        if text.hasPrefix("+") || Int(text) != nil {
            guard let time = try? PublishRequest.time(text, "", now: now), let seconds = Int(time) else {
                throw .unreadable
            }
            return ScheduleTime(seconds: seconds)
        }
        guard let parts = Parts(text) else { throw .unreadable }
        var calendar = Calendar(identifier: .gregorian)
        if let offset = parts.offset {
            guard let fixed = TimeZone(secondsFromGMT: offset) else { throw .unreadable }
            calendar.timeZone = fixed
        } else {
            calendar.timeZone = zone
        }
        guard let date = calendar.date(from: parts.components) else { throw .unreadable }
        func shows(_ date: Date) -> Bool {
            calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date) == parts.components
        }
        guard shows(date) else {
            // The 31st of a short month is an error of the date, not of a clock change.
            let day = calendar.dateComponents([.year, .month, .day], from: date)
            let isDay = (day.year, day.month, day.day) == (parts.year, parts.month, parts.day)
            throw isDay ? .skipped(zone.identifier) : .unreadable
        }
        // Most clocks turn back by an hour, and Lord Howe's by half an hour.
        let isTwice = [-7_200, -3_600, -1_800, 1_800, 3_600, 7_200].contains { shows(date.addingTimeInterval($0)) }
        guard !isTwice else { throw .twice(zone.identifier) }
        return ScheduleTime(seconds: Int(date.timeIntervalSince1970))
    }

    /// Reads `2026-11-21T18:00`, with optional seconds and zone.
    private struct Parts {
        var year = 0, month = 0, day = 0
        var components: DateComponents
        /// Seconds east of Greenwich. Nil if the text has no zone.
        var offset: Int?

        init?(_ text: String) {
            let pattern = #/(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}))?(Z|[+-]\d{2}(?::?\d{2})?)?/#
            guard let match = text.wholeMatch(of: pattern), let year = Int(match.1), let month = Int(match.2),
                let day = Int(match.3), let hour = Int(match.4), let minute = Int(match.5),
                (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60
            else { return nil }
            let second = match.6.flatMap { Int($0) } ?? 0
            guard second < 60 else { return nil }
            (self.year, self.month, self.day) = (year, month, day)
            components = DateComponents(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
            guard let zone = match.7 else { return }
            let digits = zone.filter(\.isNumber)
            let minutes = (Int(digits.prefix(2)) ?? 0) * 60 + (Int(digits.dropFirst(2)) ?? 0)
            offset = zone.hasPrefix("-") ? -minutes * 60 : minutes * 60
        }
    }
}

enum ScheduleTimeError: Error, Equatable, CustomStringConvertible {
    case unreadable
    case skipped(String)
    case twice(String)

    var description: String {
        switch self {
        case .unreadable:
            "must be a time such as 2026-11-21T18:00, 2026-11-21T18:00+01:00, epoch seconds, or +10m"
        case .skipped(let zone):
            "does not exist in \(zone): the clocks are put forward over it. Give an offset such as +01:00, or another time"
        case .twice(let zone):
            "happens twice in \(zone): the clocks are put back. Give an offset such as +01:00"
        }
    }
}
