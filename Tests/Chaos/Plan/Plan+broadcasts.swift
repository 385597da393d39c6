/// Names with a broadcast channel. Channels follow them with tokens too.
extension Plan {
    private static let broadcastSizes = [3, 40]

    static func broadcastNames(from first: Int, _ channels: Int, _ milliseconds: Int, _ seed: UInt64) -> [NamePlan] {
        broadcastSizes.enumerated().map { offset, size in
            let index = first + offset
            var random = SeededRandom(seed, "broadcasts of \(index)")
            let pool = size + max(8, size / 5)
            var name = NamePlan(
                index: index, initial: size, pool: pool, first: random.number(0...channels - pool), stages: [],
                hasBroadcastChannel: true)
            name.stages = stages(name, milliseconds, seed)
            // The channel must get an end.
            let hasEnd = name.stages.contains { $0.end?.what.audience == .all }
            if !hasEnd, let last = name.stages.indices.last {
                name.stages[last].end = Planned(
                    at: milliseconds - 500, seed: random.next(),
                    what: End(audience: .all, isTested: true, reopens: .never))
            }
            return name
        }
    }

    /// Makes one alert of a name with a broadcast channel stop, so that a dead letter is retried whose broadcast may
    /// have been delivered before.
    static func withRefusedAlert(_ name: NamePlan, between times: Range<Int>) -> NamePlan {
        var name = name
        for index in name.stages.indices {
            guard let place = name.stages[index].publishes.firstIndex(where: { times.contains($0.at) }) else {
                continue
            }
            name.stages[index].publishes[place].what.hasAlert = true
            name.stages[index].publishes[place].what.variant = .refused(
                Refusal(reason: "TopicDisallowed", places: nil, isDropped: false))
            return name
        }
        return name
    }

    /// Faults of broadcasts and of channel management. The first ones meet the requests that make the channels.
    static func broadcastFaults(_ milliseconds: Int, _ seed: UInt64) -> [Planned<APNsFault>] {
        var random = SeededRandom(seed, "broadcast faults")
        var planned: [Planned<APNsFault>] = []
        var at = 0
        while at < milliseconds - 1_000 {
            let length = min(random.number(500...4_000), milliseconds - at)
            let what = at == 0 ? manageFault(length, &random) : broadcastFault(length, &random)
            planned.append(Planned(at: at, seed: random.next(), what: what))
            at += length + random.number(500...4_000)
        }
        return planned
    }

    private static func manageFault(_ length: Int, _ random: inout SeededRandom) -> APNsFault {
        let (title, faults): (String, String) = random.pick([
            (2, ("management: TooManyRequests", #""manage_rejections":{"TooManyRequests":0.7}"#)),
            (1, ("management: ServiceUnavailable", #""manage_rejections":{"ServiceUnavailable":1}"#)),
            (2, ("management: one answer is lost", #""manage_lose_next":1"#)),
        ])
        return APNsFault(title: title, faults: faults, doubts: false, milliseconds: length)
    }

    private static func broadcastFault(_ length: Int, _ random: inout SeededRandom) -> APNsFault {
        let delivers = random.chance(0.5)
        let (title, faults): (String, String) = random.pick([
            (2, ("TooManyRequests", #""broadcast_rejections":{"TooManyRequests":0.6}"#)),
            (2, ("ServiceUnavailable", #""broadcast_rejections":{"ServiceUnavailable":1}"#)),
            (2, ("InternalServerError", #""broadcast_rejections":{"InternalServerError":0.5}"#)),
            (2, (stalls, #""stall_share":0.4,"stall_delivers":\#(delivers)"#)),
        ])
        // Stalls are of tokens too, so they are short.
        return APNsFault(
            title: title, faults: faults, doubts: false, milliseconds: title == stalls ? min(length, 1_000) : length)
    }
    private static let stalls = "silence"
}
