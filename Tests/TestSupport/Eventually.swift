public struct NeverHappened: Error, CustomStringConvertible {
    public var description: String

    public init(description: String) { self.description = description }
}

/// Polls a condition, because the state of another process cannot be awaited. The limit only ends a wait that would
/// never succeed, so it is longer than the busiest machine needs.
///
/// - Parameters:
///   - what: names the condition in the error; read when the limit has passed.
///   - interval: the pause between two looks.
///   - errorsPass: an error counts as false, because the server is away for a moment. It is thrown after the limit.
public func eventually(
    _ what: @autoclosure () -> String, within limit: Duration = .seconds(300),
    every interval: Duration = .milliseconds(20), errorsPass: Bool = false, _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while true {
        let isLast = ContinuousClock.now >= deadline
        do {
            if try await condition() { return }
            if isLast { throw NeverHappened(description: "\(what()): not within \(limit)") }
        } catch {
            if isLast || !errorsPass { throw error }
        }
        try await Task.sleep(for: interval)
    }
}
