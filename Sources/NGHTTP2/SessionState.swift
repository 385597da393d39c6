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
