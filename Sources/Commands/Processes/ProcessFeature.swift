import ServiceLifecycle

/// What a feature does in the processes of a deployment. `ofFeatures` lists them.
struct ProcessFeature: Sendable {
    /// Services that run beside a worker.
    var besideWorker: @Sendable (Boot) -> [any Service] = { _ in [] }
}
