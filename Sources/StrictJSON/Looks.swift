#if DEBUG
    import Synchronization
#endif

/// Counts the members and fields that are looked at while a text of others is read, so that a test sees work that grows
/// faster than the text. A release counts nothing.
package enum Looks {
    #if DEBUG
        package final class Counter: Sendable {
            private let looks = Mutex(0)
            package init() {}

            package var count: Int { looks.withLock { $0 } }
            fileprivate func add(_ more: Int) { looks.withLock { $0 += more } }
        }

        /// The counter of a test, for its task and the tasks that it starts.
        @TaskLocal package static var counter: Counter?
    #endif

    package static func add(_ more: Int) {
        #if DEBUG
            counter?.add(more)
        #endif
    }
}
