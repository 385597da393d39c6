package import Foundation

/// Sends reports to the gateway: in order, each until the gateway has answered, across relaunches.
///
/// A call returns when the report is on disk. One task sends while there is something to send; it waits between
/// attempts by `Backoff`, for ever. Every report holds its time, so the gateway drops one that comes twice or late.
package actor Outbox {
    /// The most receipts that the gateway takes in a call.
    static let mostReceipts = 200
    private static let mostUnsaved = 1_000
    /// Seconds between two looks whether the other process still sends.
    private static let leaseLook = 5.0

    private let file: OutboxFile
    private let install: Install
    private let gateway: Gateway
    private let clock: KitClock
    private let owner: String
    private let tell: @Sendable (LamplighterError) -> Void
    /// Asks iOS to let the app run on. It returns what ends that.
    private let hold: @Sendable () -> @Sendable () -> Void

    /// The state on disk, with the changes that could not be written.
    private var state: OutboxState?
    /// Changes that are not on disk yet: it is full, or the phone was not unlocked since it started.
    private var unsaved: [@Sendable (inout OutboxState) -> Void] = []
    private var sending: Task<Void, Never>?
    private var pause: Task<Void, Never>?
    private var backoff = Backoff()
    /// The `uptime` before which nothing is sent after a failure.
    private var retryAt: Double?
    /// The `uptime` before which the gateway asked to send nothing.
    private var askedUntil: Double?
    /// The `uptime` before which receipts are collected.
    private var receiptsAt: Double?
    private var areReceiptsOff = false
    private var toldStorage = false
    /// Callers of `settle`.
    private var waiters: [CheckedContinuation<String?, Never>] = []

    init(
        file: OutboxFile, install: Install, gateway: Gateway, clock: KitClock, owner: String,
        tell: @escaping @Sendable (LamplighterError) -> Void,
        hold: @escaping @Sendable () -> @Sendable () -> Void = { {} }
    ) {
        (self.file, self.install, self.gateway, self.clock) = (file, install, gateway, clock)
        (self.owner, self.tell, self.hold) = (owner, tell, hold)
    }

    // MARK: Reports of the app

    package func follow(
        _ activity: String, name: String, of attributesType: String, token: Data, hasFrequentPushes: Bool,
        isPending: Bool = false
    ) async {
        let (hex, now) = (Self.hex(token), clock.now())
        await change {
            $0.follow(
                activity, name: name, of: attributesType, token: hex, hasFrequentPushes: hasFrequentPushes,
                isPending: isPending, now: now)
        }
        wake()
    }

    package func unfollow(_ activity: String) async {
        let now = clock.now()
        await change { $0.unfollow(activity, now: now) }
        wake()
    }

    /// Reports the end of the activities of a type that are gone.
    func keep(_ activities: Set<String>, of attributesType: String) async {
        let now = clock.now()
        await change { $0.keep(activities, of: attributesType, now: now) }
        wake()
    }

    package func start(_ attributesType: String, token: Data) async {
        let (hex, now) = (Self.hex(token), clock.now())
        await change { $0.start(attributesType, token: hex, now: now) }
        wake()
    }

    func device(_ system: String) async {
        let now = clock.now()
        await change { $0.device(system, now: now) }
        wake()
    }

    func receive(_ receipt: Receipt) async {
        guard !areReceiptsOff else { return }
        await change { $0.receive(receipt) }
        wake()
    }

    func optOut() async {
        let now = clock.now()
        await change { $0.optOut(now: now) }
        wake()
    }

    func optIn() async { await change { $0.optIn() } }

    /// Waits until the gateway has each report.
    ///
    /// - Throws: after the first attempt that fails. The outbox goes on trying.
    func settle() async throws {
        retryNow()
        let reason =
            retryAt != nil ? "the gateway asked to wait" : await withCheckedContinuation { waiters.append($0) }
        if let reason { throw LamplighterError(kind: .delayed, description: reason) }
    }

    /// - Parameter reason: why the reports wait. Nil: the gateway has them.
    private func settled(_ reason: String?) {
        for waiter in waiters { waiter.resume(returning: reason) }
        waiters = []
    }

    /// Sends the reports that an earlier run of the app left. Call it at launch.
    func wake() {
        // Receipts that are being collected do not hold up a report. A pause after a failure goes on.
        if retryAt == nil { pause?.cancel() }
        guard sending == nil else { return }
        sending = Task { await drain() }
    }

    /// The phone is online again, or the app came to the foreground: an attempt is worth it now, unless the gateway
    /// asked to wait.
    func retryNow() {
        if retryAt != nil { retryAt = askedUntil.flatMap { $0 > clock.uptime() ? $0 : nil } }
        pause?.cancel()
        wake()
    }

    /// Waits until nothing is left to send.
    package func sent() async { await sending?.value }

    private static func hex(_ data: Data) -> String {
        data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: The state

    /// Makes a change, and the earlier changes that could not be written. After an error all of them are kept in
    /// memory.
    /// - Parameter isKept: false for a look that is made again and again: it would push out the reports.
    private func change(
        isKept: Bool = true, _ body: @escaping @Sendable (inout OutboxState) -> Void = { _ in }
    ) async {
        if isKept { unsaved.append(body) }
        if unsaved.count > Self.mostUnsaved { unsaved.removeFirst() }
        guard let id = await identity() else { return }
        let kept = unsaved.count
        let bodies = isKept ? unsaved : unsaved + [body]
        do {
            state = try file.change(install: id, damaged: { told(.storage, "\($0)") }) { state in
                for body in bodies { body(&state) }
            }
            unsaved.removeFirst(kept)
            toldStorage = false
            if let dropped = state?.dropped, dropped > 0 {
                told(.full, "\(dropped) reports were dropped: \(OutboxState.mostEntries) wait for the gateway")
                unsaved.append { $0.developerKnows() }
            }
        } catch {
            var known = state ?? OutboxState(install: id)
            body(&known)
            state = known
            tellStorage(error)
        }
    }

    private func identity() async -> String? {
        do { return try await install.id() } catch {
            tellStorage(error)
            return nil
        }
    }

    private func tellStorage(_ error: any Error) {
        if !toldStorage { told(.storage, "\(error)") }
        toldStorage = true
    }

    private func told(_ kind: LamplighterError.Kind, _ text: String) {
        tell(LamplighterError(kind: kind, description: text))
    }

    // MARK: Sending

    private enum Step {
        case report(OutboxState.Entry)
        case receipts([Receipt])
        /// Seconds.
        case wait(Double)
    }

    /// Sends until nothing is left.
    private func drain() async {
        var release = hold()
        while let step = await nextStep() {
            switch step {
            case .report(let entry): await send(entry)
            case .receipts(let receipts): await send(receipts)
            case .wait(let seconds):
                // iOS may suspend the app meanwhile. The reports are on disk.
                release()
                await wait(seconds)
                release = hold()
            }
        }
        release()
    }

    private func wait(_ seconds: Double) async {
        let pause = Task { [clock] in await clock.sleep(seconds) }
        self.pause = pause
        await pause.value
        self.pause = nil
    }

    /// The next thing to do for the reports that wait. Nil: nothing is left, and the task ends.
    private func nextStep() async -> Step? {
        let uptime = clock.uptime()
        if let retryAt, retryAt > uptime { return .wait(retryAt - uptime) }
        retryAt = nil
        let (owner, now) = (owner, clock.now())
        // Another process may have added something.
        await change(isKept: false) { state in
            if !state.entries.isEmpty || !state.receipts.isEmpty { state.take(owner, now: now) }
        }
        guard let state else {
            settled("the outbox cannot be read")
            return .wait(backoff.failed(asked: nil, random: clock.random).length)
        }
        if state.entries.isEmpty { settled(nil) }
        if !hasWork {
            if state.lease?.owner == owner { await change { $0.release(owner) } }
            // Changes are in memory alone: try to write them later.
            if !unsaved.isEmpty { return .wait(backoff.failed(asked: nil, random: clock.random).length) }
            // Something came while this was written.
            if hasWork { return .wait(0) }
            sending = nil
            return nil
        }
        if let lease = state.lease, lease.owner != owner {
            // The other process gives it back as soon as it has sent everything.
            return .wait(min(Double(lease.until - now) / 1_000, Self.leaseLook))
        }
        if let first = state.entries.first { return .report(first) }
        // A push to a million devices must not bring a million calls in one second.
        let due = receiptsAt ?? uptime + clock.random(1...20)
        receiptsAt = due
        if due > uptime { return .wait(due - uptime) }
        receiptsAt = nil
        return .receipts(Array(state.receipts.prefix(Self.mostReceipts)))
    }

    private var hasWork: Bool {
        guard let state else { return true }
        return !state.entries.isEmpty || (!state.receipts.isEmpty && !areReceiptsOff)
    }

    private func send(_ entry: OutboxState.Entry) async {
        guard let channel = state?.install else { return }
        let reply = await gateway.send(WireRequest(entry.report, at: entry.at, channel: channel), for: channel)
        switch Fate(reply) {
        case .done:
            succeeded()
            let (date, now) = (reply.date, clock.now())
            await change { state in
                state.remove(entry)
                if let date { state.answered(at: date, now: now) }
            }
        case .withoutStart: await change { $0.leaveOutStart(entry) }
        case .again(let after, let reason):
            failed(asked: after, reason)
            // Without an answer the next one would fare no better.
            if case .answered = reply { await change { $0.postpone(entry) } }
        case .refused(let words):
            succeeded()
            told(.refused, "\(entry.report.key): \(words)")
            await change { $0.remove(entry) }
        case .receiptsOff:
            succeeded()
            await change { $0.remove(entry) }
        }
    }

    private func send(_ receipts: [Receipt]) async {
        guard let channel = state?.install else { return }
        switch Fate(await gateway.send(WireRequest(receipts), for: channel)) {
        case .done:
            succeeded()
            await change { $0.settle(receipts) }
        case .again(let after, let reason): failed(asked: after, reason)
        case .refused(let words):
            succeeded()
            told(.refused, "receipts: \(words)")
            await change { $0.settle(receipts) }
        case .receiptsOff, .withoutStart:
            areReceiptsOff = true
            await change { $0.settle($0.receipts) }
        }
    }

    private func succeeded() { backoff.succeeded() }

    private func failed(asked: Double?, _ reason: String) {
        if backoff.failures == 0 { told(.delayed, reason) }
        let (pause, uptime) = (backoff.failed(asked: asked, random: clock.random), clock.uptime())
        (retryAt, askedUntil) = (uptime + pause.length, uptime + pause.asked)
        settled(reason)
    }
}
