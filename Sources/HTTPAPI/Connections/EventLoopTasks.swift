import NIOCore

/// Runs the tasks of a connection on the thread of its event loop. A request then changes threads only to wait for
/// Redis, not for each part that it reads or writes.
final class EventLoopTasks: TaskExecutor {
    private let eventLoop: any EventLoop

    private init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// The executors, one for each event loop.
    struct Group: Sendable {
        private let members: [ObjectIdentifier: EventLoopTasks]

        init(_ group: some EventLoopGroup) {
            let loops = Array(group.makeIterator())
            members = Dictionary(
                loops.map { (ObjectIdentifier($0), EventLoopTasks($0)) }, uniquingKeysWith: { first, _ in first })
        }

        /// The executor of a loop. Nil for a loop of another group: its tasks run where all tasks do.
        subscript(eventLoop: any EventLoop) -> EventLoopTasks? { members[ObjectIdentifier(eventLoop)] }
    }
}
