import Curl
import Foundation
import Synchronization

/// Sets the simulator's faults, and reads its record while the run goes on.
extension Disturber {
    func change(_ fault: APNsFault?) async {
        change { state in
            state.apnsFault = fault
            if fault != nil { state.counts["APNs faults", default: 0] += 1 }
        }
        if let fault { log.announce("APNs: \(fault.title)") } else { log.note("APNs: well again") }
        await applyFaults()
    }

    func changeBroadcasts(_ fault: APNsFault?) async {
        change { state in
            state.broadcastFault = fault
            if fault != nil { state.counts["broadcast faults", default: 0] += 1 }
        }
        log.note("broadcasts: \(fault?.title ?? "well again")")
        await applyFaults()
    }

    /// Sets the simulator's faults.
    ///
    /// Calls take turns, because an older call that arrives last would bring back what a newer one took away.
    func applyFaults() async { await applyFaults("/faults") { $0.faults } }

    /// Sets the faults of one of the two services.
    /// - Parameter path: of the simulator's control interface
    func applyFaults(_ path: String, _ faults: @escaping @Sendable (State) -> String) async {
        let turn = applying.withLock { last in
            let turn = Task { [last] in
                await last?.value
                await setFaults(path, faults)
            }
            last = turn
            return turn
        }
        await turn.value
    }

    /// The simulator may be stopped, so this repeats until it answers.
    private func setFaults(_ path: String, _ faults: @Sendable (State) -> String) async {
        for _ in 0..<100 {
            let faults = state.withLock { faults($0) }
            let request = HTTPRequest(
                "POST", fleet.controlURL + path, body: .bytes(Array(faults.utf8)), timeout: .seconds(2))
            if let answer = try? await HTTPClient().send(request) {
                if answer.status == 200 { return }
                log.note("the simulator refused faults: \(String(decoding: answer.body, as: UTF8.self))")
                return
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Until `serve`, tokens of this name with this beginning get this reason.
    func refuse(_ name: Int, _ prefix: String, _ reason: String) async {
        log.note("APNs refuses tokens \(prefix)… with \(reason)")
        change { $0.refusals[name] = (prefix, reason) }
        await applyFaults()
    }

    func serve(_ name: Int) async {
        change { $0.refusals[name] = nil }
        await applyFaults()
        log.note("APNs takes the tokens of chaos-\(name) again")
    }

    /// Until its time is over, APNs answers no request for some phones of a name.
    func silence(_ silence: Silence) async {
        log.note("APNs does not answer for the first \(silence.places) of chaos-\(silence.name)")
        change { state in
            state.silences[silence.name] = Tokens.prefixes(name: silence.name, places: silence.places)
            state.counts["silences of some phones", default: 0] += 1
        }
        await applyFaults()
        try? await Task.sleep(for: .milliseconds(silence.milliseconds))
        change { $0.silences[silence.name] = nil }
        await applyFaults()
        log.note("APNs answers for all of chaos-\(silence.name) again")
    }

    var controlURL: String { fleet.controlURL }

    /// The requests of a token so far. Nil if the simulator does not answer.
    func history(_ token: TokenID) async -> [Request]? {
        for _ in 0..<5 {
            if let history = try? await Record.history(fleet.controlURL, token) { return history }
            try? await Task.sleep(for: .milliseconds(500))
        }
        return nil
    }

    /// How often a push has reached broadcast channels so far. Requests that were on the wire of a killed or stopped
    /// process do not count. Nil if the simulator does not answer.
    func broadcasts(_ number: Int) async -> Int? {
        for _ in 0..<5 {
            if let channels = try? await Record.broadcastChannels(fleet.controlURL) {
                let requests = channels.flatMap(\.history).filter { $0.reached && $0.order == number }
                return requests.count { request in
                    !interruptions.contains { $0.explains(request) }
                }
            }
            try? await Task.sleep(for: .milliseconds(500))
        }
        return nil
    }
}
