/// State that C's callbacks of one session read and write. It has an address of its own, because it is nghttp2's user
/// data. The `ClientSession` owns it, and only the session's thread uses it.
struct SessionState {
    /// All slots, `capacity` of them.
    let streams: UnsafeMutablePointer<StreamState>
    let capacity: Int
    /// A stack of the free slots.
    let free: UnsafeMutablePointer<Int32>
    var freeCount: Int
    /// A ring buffer of `capacity` streams. Callbacks fill it, and `ClientSession.nextEnded` empties it.
    let ended: UnsafeMutablePointer<EndedStream>
    var endedFirst = 0
    var endedCount = 0

    var inFlight = 0
    var output = OutputBuffer()
    /// The stream whose answer's fields are being read, so that not each field needs a look-up.
    var reading: UnsafeMutablePointer<StreamState>?
    var readingID: Int32 = 0

    /// The fields of traced requests' answers, by slot, until its release.
    private(set) var fields: [Int: [(name: String, value: String)]] = [:]
    /// The most fields and bytes of a value that are kept of an answer.
    private static let mostFields = 32
    private static let longestValue = 256

    var goaway: Goaway?
    var pongs = 0
    /// The session ends its streams. A stream that nghttp2 closes from now on is lost, not answered.
    var isEnding = false

    init(capacity: Int) {
        self.capacity = capacity
        streams = .allocate(capacity: capacity)
        streams.initialize(repeating: StreamState(), count: capacity)
        free = .allocate(capacity: capacity)
        for index in 0..<capacity { (free + index).initialize(to: Int32(capacity - 1 - index)) }
        freeCount = capacity
        ended = .allocate(capacity: capacity)
    }

    /// Call it after nghttp2's session is gone, because that points into the templates.
    func deallocate() {
        for index in 0..<capacity {
            streams[index].letGoOfTemplate()
            streams[index].answer?.deallocate()
        }
        streams.deallocate()
        free.deallocate()
        ended.deallocate()
        output.deallocate()
    }

    /// Keeps a field of a traced request's answer. Pseudo-fields are left out.
    mutating func keep(_ field: (name: String, value: String), of stream: UnsafeMutablePointer<StreamState>) {
        guard !field.name.hasPrefix(":"), fields[stream - streams, default: []].count < Self.mostFields else { return }
        fields[stream - streams, default: []].append((field.name, String(field.value.prefix(Self.longestValue))))
    }

    mutating func dropFields(_ slot: Int) { fields[slot] = nil }

    /// Notes a closed stream. Each slot is in `ended` at most once before its release, so there is room.
    mutating func end(_ stream: UnsafeMutablePointer<StreamState>, _ end: StreamEnd) {
        if reading == stream { reading = nil }
        readingID = 0
        var place = endedFirst + endedCount
        if place >= capacity { place -= capacity }
        (ended + place).initialize(
            to: EndedStream(
                slot: stream - streams, status: Int(stream.pointee.status), end: end,
                startedAt: stream.pointee.startedAt))
        endedCount += 1
        inFlight -= 1
        stream.pointee.id = 0
    }
}

public struct Goaway: Sendable, Hashable {
    /// Requests up to this id may have been processed; requests above it were not.
    public var lastStreamID: Int32
    public var errorCode: UInt32
    /// The debug data, at most 256 bytes: APNs's JSON reason.
    public var text: String
}
