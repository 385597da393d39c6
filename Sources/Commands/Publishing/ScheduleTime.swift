import FoundationEssentials
import Glibc
import LiveActivity

/// A time as a person writes it: `+10m`, epoch seconds, `tomorrow 18:00`, or a date and time in a given zone or in this
/// machine's.
struct ScheduleTime: Equatable {
    /// Epoch seconds.
    let seconds: Int

    /// The API's form, in UTC.
    var text: String { TimeText.plainText(Int64(seconds) * 1_000) + "Z" }

    /// `now` is in epoch seconds, for relative times. `zone` is used if the text has none.
    /// - Throws: also for a local time that clocks skip or show twice when they change.
    static func parse(
        _ text: String, now: Int, zone: LocalZone = .current
    ) throws(ScheduleTimeError) -> ScheduleTime {
        if let seconds = TimeText.epochSeconds(text, now: now) { return ScheduleTime(seconds: seconds) }
        if let dated = dated(text, now: now, zone) { return try parse(dated, now: now, zone: zone) }
        guard let parts = TimeParts(text, secondsOptional: true), parts.milliseconds == nil, parts.second < 60,
            let written = parts.inUTC.map({ Int($0 / 1_000) })
        else { throw .unreadable }
        if parts.offset != nil { return ScheduleTime(seconds: written) }
        // The zone's offsets a day before and after are the offsets on both sides of a change of its clocks.
        let offsets = Set([-86_400, 0, 86_400].map { zone.offset(written + $0) })
        let times = offsets.map { written - $0 }.filter { zone.offset($0) == written - $0 }
        switch times.count {
        case 0: throw .skipped(zone.name)
        case 1: return ScheduleTime(seconds: times[0])
        default: throw .twice(zone.name)
        }
    }

    /// Turns `today 18:00` and `tomorrow 18:00` into a date and time of the zone. Nil for other texts.
    private static func dated(_ text: String, now: Int, _ zone: LocalZone) -> String? {
        let words = text.split(separator: " ")
        guard words.count == 2, let days = ["today": 0, "tomorrow": 1][words[0].lowercased()] else { return nil }
        let local = Int64(now + zone.offset(now) + days * 86_400)
        return "\(TimeText.plainText(local * 1_000).prefix(11))\(words[1])"
    }
}

/// A time zone, of which only the distance from UTC matters.
struct LocalZone: Sendable {
    var name: String
    /// Seconds east of Greenwich at a time in epoch seconds.
    var offset: @Sendable (Int) -> Int

    /// The zone of this machine, or of the variable TZ.
    static var current: LocalZone {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/etc/localtime")
        let linked = link.flatMap { link in link.firstRange(of: "/zoneinfo/").map { String(link[$0.upperBound...]) } }
        let variable = getenv("TZ").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        return LocalZone(name: variable ?? linked ?? "this machine's time zone") { seconds in
            var time = time_t(seconds)
            var parts = tm()
            localtime_r(&time, &parts)
            return parts.tm_gmtoff
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
            "must be a time such as 2026-11-21T18:00, 2026-11-21T18:00+01:00, 'tomorrow 18:00', epoch seconds, or +10m"
        case .skipped(let zone):
            "does not exist in \(zone): the clocks are put forward over it. Give an offset such as +01:00, or another time"
        case .twice(let zone): "happens twice in \(zone): the clocks are put back. Give an offset such as +01:00"
        }
    }
}
