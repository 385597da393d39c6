import Glibc
import LiveActivity
import Settings
import Store
import StrictJSON
import Synchronization

/// Shows the deployment again and again: in place on a terminal, else as plain text or a line of JSON.
struct StatusWatch {
    let store: Store
    let keys: [AppKey]
    /// How the page names Redis.
    let redis: String
    let interval: Duration
    let isJSON: Bool

    /// Runs until a key or a signal ends it, or nobody reads the output any more.
    func run() async throws {
        if !isJSON, let screen = FullScreen() {
            defer { screen.restore() }
            await draw(on: screen)
        } else {
            try await print()
        }
    }

    private func read() async throws(StoreError) -> Snapshot {
        try await store.time.measure()
        return try await store.snapshot(keys, WatchScreen.parts)
    }

    private func draw(on screen: FullScreen) async {
        let page = Page(screen, redis)
        await withTaskGroup { tasks in
            tasks.addTask {
                while !Task.isCancelled {
                    do throws(StoreError) {
                        page.show(try await read(), problem: nil)
                    } catch {
                        // Keep the last page, and say that it is old.
                        page.show(nil, problem: "✗ Redis does not answer, so this page is old: \(error)")
                    }
                    try? await Task.sleep(for: interval)
                }
            }
            tasks.addTask {
                for await event in screen.events {
                    if event == .quit { return }
                    page.draw()
                }
            }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    /// The page that the terminal shows. It is drawn again when the terminal has another size.
    private final class Page: Sendable {
        private let screen: FullScreen
        private let redis: String
        private let shown = Mutex<(snapshot: Snapshot?, problem: String?)>((nil, nil))

        init(_ screen: FullScreen, _ redis: String) { (self.screen, self.redis) = (screen, redis) }

        func show(_ snapshot: Snapshot?, problem: String?) {
            shown.withLock { $0 = (snapshot ?? $0.snapshot, problem) }
            draw()
        }

        func draw() {
            shown.withLock { shown in
                let (columns, rows) = screen.size
                let problem = shown.problem.map { [$0.cut(to: columns)] } ?? []
                let lines = shown.snapshot.map { snapshot in
                    WatchScreen(snapshot: snapshot, redis: redis, width: columns, height: rows - problem.count).lines
                }
                screen.draw(problem + (lines ?? []))
            }
        }
    }

    private func print() async throws {
        while Terminal.isRead(STDOUT_FILENO) {
            do throws(StoreError) {
                let snapshot = try await read()
                if isJSON {
                    Terminal.print(snapshot.json.text)
                } else {
                    // A file or a pipe has no width. This one is enough for all columns.
                    let lines = WatchScreen(snapshot: snapshot, redis: redis, width: 200, height: nil).lines
                    Terminal.print((lines + [""]).joined(separator: "\n"))
                }
            } catch {
                guard error.isPassing else { throw error }
                Terminal.error("Redis does not answer: \(error)")
            }
            try await Task.sleep(for: interval)
        }
    }
}
