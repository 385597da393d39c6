import LiveActivity
import Logging
import ServiceLifecycle
import Settings
import Store

/// Reads the configuration of a running gateway or worker again: on SIGHUP, when `lamplighter reload` asks through
/// Redis, and, for keys and certificates alone, when one of their files changes. A configuration that cannot be read
/// changes nothing. Only one reload runs at a time.
struct Reloading: Service {
    /// How often the files are looked at.
    private static let look: Duration = .seconds(1)
    /// How often the life of what processes note in Redis, a day, begins anew.
    private static let renewal: Duration = .seconds(3_600)

    let process: SettingsChange.Process
    /// Reads the settings as at the start, with the same flags and environment.
    let load: @Sendable () throws -> Settings
    /// Reads all files that the settings name, then uses them and the settings. Throws before it changes anything.
    let apply: @Sendable (Settings) throws -> Void
    /// The files whose change alone is a reason to apply the settings again.
    let files: @Sendable (Settings) -> [String]
    /// Told when other secrets or credentials of apps are in use. A worker uses none.
    var accessChanged: @Sendable ([AppKey]) async -> Void = { _ in }
    /// The files before the process read them at its start, so that a change since then is seen.
    let watched: WatchedFiles
    let hangUps: AsyncStream<Void>
    let requests: ReloadRequests
    let name: String
    let started: Settings
    let logger: Logger

    private enum Event { case signal, look }

    func run() async throws {
        let (events, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(8))
        let signals = Task {
            for await _ in hangUps { continuation.yield(.signal) }
        }
        let ticks = Task {
            while !Task.isCancelled {
                continuation.yield(.look)
                try await Task.sleep(for: Self.look)
            }
        }
        await withTaskCancellationOrGracefulShutdownHandler {
            var state = State(settings: started, watched: watched)
            for await event in events {
                switch event {
                case .signal: _ = await reload(&state, because: "SIGHUP")
                case .look: await look(&state)
                }
            }
            await requests.leave(name)
        } onCancelOrGracefulShutdown: {
            ticks.cancel()
            signals.cancel()
            continuation.finish()
        }
    }

    private struct State {
        var settings: Settings
        var watched: WatchedFiles
        /// Files that have changed and are not in use yet.
        var unread: Set<String> = []
        /// The newest request of `lamplighter reload` that was answered.
        var answered: String?
        /// When the process last noted in Redis that it lives, and asked for requests.
        var asked: ContinuousClock.Instant?
        var renewed: ContinuousClock.Instant?
    }

    private func look(_ state: inout State) async {
        let changed = state.watched.changes(of: Set(files(state.settings)))
        state.unread.formUnion(changed)
        if !changed.isEmpty { await readFiles(&state, changed.sorted()) }
        let now = ContinuousClock.now
        guard state.asked.map({ now - $0 >= ReloadRequests.interval }) ?? true else { return }
        let renews = state.renewed.map { now - $0 >= Self.renewal } ?? true
        let found: String?
        // Without Redis there is no request. The next look asks again.
        do { found = try await requests.look(name, process.rawValue, renews: renews) } catch { return }
        state.asked = now
        if renews { state.renewed = now }
        // A request from before the first look counts too: the process may have read its file before the change.
        guard let request = found, request != state.answered else { return }
        state.answered = request
        let answer = await reload(&state, because: "lamplighter reload")
        try? await requests.answer(request, name, answer)
    }

    private func readFiles(_ state: inout State, _ changed: [String]) async {
        do {
            try apply(state.settings)
            logger.notice("read changed files again", metadata: ["files": "\(changed.joined(separator: ", "))"])
        } catch {
            logger.error(
                "a changed file is not usable, so the old one stays in use: \(error)",
                metadata: ["files": "\(changed.joined(separator: ", "))"])
            return
        }
        await tellAccess(&state, [])
    }

    /// Tells of the apps whose secrets or credentials are other ones now, by their settings or by files that were read.
    private func tellAccess(_ state: inout State, _ changed: [AppKey]) async {
        let unread = state.unread
        state.unread = []
        let read = state.settings.apps.filter { app in
            app.credentials.contains { unread.contains($0.secretFile ?? "") }
        }
        let apps = Set(changed).union(read.map(\.key)).sorted { $0.rawValue < $1.rawValue }
        if !apps.isEmpty { await accessChanged(apps) }
    }

    private func reload(_ state: inout State, because reason: String) async -> ReloadAnswer {
        do {
            let next = try load()
            let change = SettingsChange(from: state.settings, to: next, in: process)
            let settings = next.reloaded(over: state.settings, in: process)
            // Before the files are read, so that a change meanwhile is seen at the next look.
            var watched = state.watched
            state.unread.formUnion(watched.changes(of: Set(files(settings))))
            try apply(settings)
            LiveLogLevel.set(settings.log.level)
            state.watched = watched
            state.settings = settings
            var metadata: Logger.Metadata = ["reason": "\(reason)"]
            if !change.applied.isEmpty { metadata["changed"] = "\(change.applied.joined(separator: ", "))" }
            logger.notice("configuration read again", metadata: metadata)
            if !change.needsRestart.isEmpty {
                logger.warning(
                    "changed settings need a restart of this process",
                    metadata: ["settings": "\(change.needsRestart.joined(separator: ", "))"])
            }
            await tellAccess(&state, change.access)
            return ReloadAnswer(process: process.rawValue, applied: change.applied, needsRestart: change.needsRestart)
        } catch {
            logger.error("the configuration is not usable, so nothing has changed: \(error)")
            return ReloadAnswer(process: process.rawValue, error: "\(error)")
        }
    }
}
