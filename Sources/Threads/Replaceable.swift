internal import Synchronization

/// A value that is replaced as a whole while others read it, such as the settings of a running process. A reader that
/// needs parts that belong together reads `current` once.
public final class Replaceable<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    public init(_ value: Value) { self.value = Mutex(value) }

    public var current: Value { value.withLock { $0 } }
    public func replace(with next: Value) { value.withLock { $0 = next } }
    /// Changes the value. No reader sees it in between.
    public func change(_ body: (inout Value) -> Void) { value.withLock { body(&$0) } }
}
