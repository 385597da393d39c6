import Dispatch
import Glibc
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

    let process: SettingsChange.Process
    /// Reads the settings as at the start, with the same flags and environment.
    let load: @Sendable () throws -> Settings
    /// Reads all files that the settings name, then uses them and the settings. Throws before it changes anything.
    let apply: @Sendable (Settings) throws -> Void
    /// The files whose change alone is a reason to apply the settings again.
    let files: @Sendable (Settings) -> [String]
    let requests: ReloadRequests
    let name: String
    let started: Settings
    let logger: Logger

    private enum Event { case signal, look }

    func run() async throws {
        let (events, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(8))
        signal(SIGHUP, SIG_IGN)
        let hangUp = DispatchSource.makeSignalSource(signal: SIGHUP)
        hangUp.setEventHandler { continuation.yield(.signal) }
        hangUp.activate()
        let ticks = Task {
            while !Task.isCancelled {
                continuation.yield(.look)
                try await Task.sleep(for: Self.look)
            }
        }
        await withTaskCancellationOrGracefulShutdownHandler {
            var state = State(settings: started)
            _ = state.watched.changes(of: Set(files(started)))
            for await event in events {
                switch event {
                case .signal: _ = reload(&state, because: "SIGHUP")
                case .look: await look(&state)
                }
            }
            await requests.leave(name)
        } onCancelOrGracefulShutdown: {
            ticks.cancel()
            continuation.finish()
        }
        hangUp.cancel()
    }

    private struct State {
        var settings: Settings
        var watched = WatchedFiles()
        /// The newest request of `lamplighter reload` that was answered.
        var answered: String?
        var isFirstLook = true
    }

    private func look(_ state: inout State) async {
        let changed = state.watched.changes(of: Set(files(state.settings)))
        if !changed.isEmpty { readFiles(state.settings, changed.sorted()) }
        // Without Redis there is no request. The next look asks again.
        guard let request = try? await requests.seen(name, process.rawValue) else { return }
        defer {
            state.answered = request.isEmpty ? state.answered : request
            state.isFirstLook = false
        }
        // A request from before this process began is none for it.
        guard !request.isEmpty, request != state.answered, !state.isFirstLook else { return }
        let answer = reload(&state, because: "lamplighter reload")
        try? await requests.answer(request, name, answer)
    }

    private func readFiles(_ settings: Settings, _ changed: [String]) {
        do {
            try apply(settings)
            logger.notice("read changed files again", metadata: ["files": "\(changed.joined(separator: ", "))"])
        } catch {
            logger.error(
                "a changed file is not usable, so the old one stays in use: \(error)",
                metadata: ["files": "\(changed.joined(separator: ", "))"])
        }
    }

    private func reload(_ state: inout State, because reason: String) -> ReloadAnswer {
        do {
            let next = try load()
            let change = SettingsChange(from: state.settings, to: next, in: process)
            try apply(next)
            // Settings that need a restart are compared with the old ones again at the next reload.
            state.settings = next.keepingRestartOnes(of: state.settings, in: process)
            _ = state.watched.changes(of: Set(files(next)))
            var metadata: Logger.Metadata = ["reason": "\(reason)"]
            if !change.applied.isEmpty { metadata["changed"] = "\(change.applied.joined(separator: ", "))" }
            logger.notice("configuration read again", metadata: metadata)
            if !change.needsRestart.isEmpty {
                logger.warning(
                    "changed settings need a restart of this process",
                    metadata: ["settings": "\(change.needsRestart.joined(separator: ", "))"])
            }
            return ReloadAnswer(process: process.rawValue, applied: change.applied, needsRestart: change.needsRestart)
        } catch {
            logger.error("the configuration is not usable, so nothing has changed: \(error)")
            return ReloadAnswer(process: process.rawValue, error: "\(error)")
        }
    }
}
