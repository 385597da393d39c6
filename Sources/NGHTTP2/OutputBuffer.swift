/// Bytes on their way to the server, written at the end and taken from the start.
struct OutputBuffer {
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var start = 0
    private var end = 0
    /// All bytes taken so far.
    private(set) var taken = 0

    init() {
        capacity = 64 << 10
        memory = .allocate(capacity: capacity)
    }

    func deallocate() { memory.deallocate() }

    var count: Int { end - start }
    /// All bytes written so far, which is the position of the next one.
    var position: Int { taken + count }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory + start, count: count) }

    mutating func append(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        reserve(count)
        (memory + end).update(from: bytes, count: count)
        end += count
    }

    /// Makes room for `count` more bytes: moves the rest to the front or doubles the memory.
    private mutating func reserve(_ count: Int) {
        guard end + count > capacity else { return }
        if self.count + count <= capacity / 2 {
            memory.update(from: memory + start, count: self.count)
        } else {
            while self.count + count > capacity { capacity *= 2 }
            let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
            larger.update(from: memory + start, count: self.count)
            memory.deallocate()
            memory = larger
        }
        end -= start
        start = 0
    }

    mutating func take(_ count: Int) {
        start += count
        taken += count
        if start == end {
            start = 0
            end = 0
        }
    }
}
