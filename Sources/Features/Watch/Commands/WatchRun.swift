import Glibc
import LiveActivity
import Settings
import Store
import StrictJSON
import Synchronization

/// Shows the deployment again and again: in place on a terminal, else as plain text or a line of JSON.
struct WatchRun {
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
                    switch event {
                    case .quit: return
                    case .resized: page.draw()
                    case .key(let key): page.press(key)
                    }
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
        private struct Shown {
            var snapshot: Snapshot?
            var problem: String?
            var keys = WatchScreen.Keys()
            var rates: [Int] = []
        }
        private static let mostRates = 60
        private let shown = Mutex(Shown())

        init(_ screen: FullScreen, _ redis: String) { (self.screen, self.redis) = (screen, redis) }

        func show(_ snapshot: Snapshot?, problem: String?) {
            shown.withLock { shown in
                shown.problem = problem
                guard let snapshot else { return }
                shown.snapshot = snapshot
                shown.rates = shown.rates.suffix(Self.mostRates - 1) + [snapshot.total(\.rate)]
            }
            draw()
        }

        func press(_ key: Character) {
            shown.withLock { shown in
                switch key {
                case "s": shown.keys.order = shown.keys.order.next
                case "?", "h": shown.keys.showsHelp.toggle()
                default: break
                }
            }
            draw()
        }

        func draw() {
            shown.withLock { shown in
                let (columns, rows) = screen.size
                let problem = shown.problem.map { [$0.cut(to: columns)] } ?? []
                let lines = shown.snapshot.map { snapshot in
                    WatchScreen(
                        snapshot: snapshot, redis: redis, width: columns, height: rows - problem.count,
                        rates: shown.rates, keys: shown.keys
                    ).lines
                }
                screen.draw(problem + (lines ?? []))
            }
        }
    }

    private func print() async throws {
        while Terminal.isRead {
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
