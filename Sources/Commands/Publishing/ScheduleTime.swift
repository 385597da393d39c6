import Foundation
import LiveActivity

/// A time as a person writes it: `+10m`, epoch seconds, or a date and time in a given zone or in this machine's.
struct ScheduleTime: Equatable {
    /// Epoch seconds.
    let seconds: Int

    /// The API's form, in UTC.
    var text: String { TimeText.plainText(Int64(seconds) * 1_000) + "Z" }

    /// `now` is in epoch seconds, for relative times. `zone` is used if the text has none.
    /// - Throws: also for a local time that clocks skip or show twice when they change.
    static func parse(_ text: String, now: Int, zone: TimeZone = .current) throws(ScheduleTimeError) -> ScheduleTime {
        if let seconds = TimeText.epochSeconds(text, now: now) { return ScheduleTime(seconds: seconds) }
        guard let parts = TimeParts(text, secondsOptional: true), parts.milliseconds == nil, parts.second < 60,
            let zone = parts.offset.map({ TimeZone(secondsFromGMT: $0) }) ?? zone
        else { throw .unreadable }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let written = DateComponents(
            year: parts.year, month: parts.month, day: parts.day, hour: parts.hour, minute: parts.minute,
            second: parts.second)
        guard let date = calendar.date(from: written) else { throw .unreadable }
        func shows(_ date: Date) -> Bool {
            calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date) == written
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
}

enum ScheduleTimeError: Error, Equatable, CustomStringConvertible {
    case unreadable
    case skipped(String)
    case twice(String)

    var description: String {
        switch self {
        case .unreadable: "must be a time such as 2026-11-21T18:00, 2026-11-21T18:00+01:00, epoch seconds, or +10m"
        case .skipped(let zone):
            "does not exist in \(zone): the clocks are put forward over it. Give an offset such as +01:00, or another time"
        case .twice(let zone): "happens twice in \(zone): the clocks are put back. Give an offset such as +01:00"
        }
    }
}
