import LiveActivity
import Store

extension ReachNote {
    /// Sketches the devices of each day in the worker.
    static let numbers = ReachNote { store in
        let sketches = DeviceSketches(store)
        return { app, page, reached in sketches.add(app, page, reached) }
    }
}
