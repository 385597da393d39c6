/// Cuts a stream of bytes into lines, in bounded memory.
struct LineReader {
    enum Line: Sendable, Hashable {
        case text([UInt8])
        case tooLong
    }

    let maximumBytes: Int
    private var partial: [UInt8] = []
    private var isSkipping = false
    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// The lines that `bytes` completes, without their LF.
    mutating func read(_ bytes: some Collection<UInt8>) -> [Line] {
        var lines: [Line] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            take(rest[..<end])
            lines.append(complete())
            rest = rest[rest.index(after: end)...]
        }
        take(rest)
        return lines
    }

    /// The last line, if the stream did not end with LF.
    mutating func finish() -> Line? { partial.isEmpty && !isSkipping ? nil : complete() }

    private mutating func take(_ part: some Collection<UInt8>) {
        guard !isSkipping else { return }
        guard partial.count + part.count <= maximumBytes else {
            partial = []
            isSkipping = true
            return
        }
        partial.append(contentsOf: part)
    }

    private mutating func complete() -> Line {
        defer {
            partial = []
            isSkipping = false
        }
        return isSkipping ? .tooLong : .text(partial)
    }
}
