import Delivery
import LiveActivity

/// An app's transport to a platform behind its circuit. While the circuit is half open, one request at a time is the
/// probe. A page of a thousand is too much for a probe, because the platform would refuse all of it if the credentials
/// are still wrong.
struct CircuitTransport: PushTransport {
    let transport: any PushTransport
    let key: AppPlatform
    let circuits: AppCircuits
    var now: @Sendable () -> Int64 = bootClock

    var requestTimeout: Duration { transport.requestTimeout }
    var lanes: LaneCounts { transport.lanes }

    func close() async { await transport.close() }

    func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        guard !page.isEmpty else { return PageOutcome() }
        switch await circuits.admit(key, now: now()) {
        case .send: return await transport.send(page, push, while: permission, handover)
        case .refused(let outcome): return PageOutcome(all: page, outcome)
        case .probe: return await probe(page, push, while: permission, handover)
        }
    }

    private func probe(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        // The probe waits for its answer, because nothing else proves that the app may send.
        var outcome = await transport.send(page.part([0]), push, while: permission, nil)
        let answer = outcome.exceptions.first?.outcome ?? .accepted
        guard !answer.haltsApp else {
            circuits.probed(key, hasPassed: false)
            guard case .rejected(let rejection) = answer, page.count > 1 else { return PageOutcome(all: page, answer) }
            outcome += PageOutcome(all: page.part(Array(page.entries.indices.dropFirst())), rejection.unsent)
            return outcome
        }
        if case .unanswered(let none) = answer, none.cause == .cancelled || none.cause == .paced {
            // The lease was lost before the probe left, or it has no turn. The platform has said nothing, so another
            // page becomes the probe.
            circuits.probeWasNotSent(key)
            return PageOutcome(all: page, answer)
        }
        circuits.probed(key, hasPassed: true)
        if page.count > 1 {
            let rest = page.part(Array(page.entries.indices.dropFirst()))
            outcome += await transport.send(rest, push, while: permission, handover)
        }
        return outcome
    }
}

extension NoAnswer {
    /// True if no connection was made, or if the server sent nothing or took no body on it. Nothing was delivered then.
    var isUnreachable: Bool {
        switch cause {
        case .connectionFailed, .tls, .windowClosed: true
        case .timeout: !mayHaveBeenDelivered
        case .connectionLost, .cancelled, .paced: false
        }
    }
}

extension PushOutcome {
    /// The answer concerns the app's credentials, or an unreachable or busy server, so no other request of the page
    /// would pass.
    var haltsApp: Bool {
        switch self {
        case .accepted: false
        case .rejected(let rejection): rejection.isAboutCredentials || rejection.verdict == .pauseApp
        case .unanswered(let noAnswer): noAnswer.isUnreachable
        }
    }
}

extension Rejection { var isAboutCredentials: Bool { verdict == .haltApp || verdict == .renewCredential } }
