import APNsClient
import APNsWire
import LiveActivity

/// An app's transport behind its gate. While the gate is half open one request at a time is the probe: not a page of a
/// thousand, which wrong credentials would turn away whole.
struct GatedTransport: PushTransport {
    let transport: any PushTransport
    let app: AppKey
    let gates: AppGates

    var load: Int { transport.load }

    func close() async { await transport.close() }

    func send(_ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission) async -> PageOutcome {
        guard !page.isEmpty else { return PageOutcome() }
        switch await gates.admit(app, now: Clocks.sinceBoot()) {
        case .send: return await transport.send(page, push, while: permission)
        case .refused(let outcome): return PageOutcome(all: page, outcome)
        case .probe: return await probe(page, push, while: permission)
        }
    }

    private func probe(_ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission) async
        -> PageOutcome
    {
        var outcome = await transport.send(page.filtered { $0 == 0 }, push, while: permission)
        let answer = outcome.exceptions.first?.outcome ?? .accepted
        guard !answer.haltsApp else {
            gates.probed(app, hasPassed: false)
            return PageOutcome(all: page, answer)
        }
        if case .unanswered(let none) = answer, none.cause == .cancelled {
            // Its lease was lost before it was sent: APNs has said nothing, and another page is the probe.
            gates.probeWasNotSent(app)
            return PageOutcome(all: page, answer)
        }
        gates.probed(app, hasPassed: true)
        guard page.count > 1 else { return outcome }
        let rest = await transport.send(page.filtered { $0 > 0 }, push, while: permission)
        outcome.accepted += rest.accepted
        outcome.duplicatesPossible += rest.duplicatesPossible
        outcome.exceptions += rest.exceptions.map { .init(index: $0.index + 1, outcome: $0.outcome) }
        return outcome
    }
}

extension NoAnswer {
    /// No connection could be made, or none on which the server said a word: nothing was sent.
    var isUnreachable: Bool {
        switch cause {
        case .connectionFailed, .tls: true
        case .timeout: !mayHaveBeenDelivered
        case .connectionLost, .cancelled: false
        }
    }
}

extension PushOutcome {
    /// The answer speaks of the app's credentials, or of a server that cannot be reached: nothing of the page would pass.
    var haltsApp: Bool {
        switch self {
        case .accepted: false
        case .rejected(let rejection):
            switch rejection.verdict {
            case .haltApp, .renewProviderToken: true
            default: false
            }
        case .unanswered(let noAnswer): noAnswer.isUnreachable
        }
    }
}
