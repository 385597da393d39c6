/// One request's slot in a `ClientSession`, used again and again. C's callbacks get its address as stream user data.
struct StreamState {
    /// The longest answer that is kept; the rest is dropped. Answers of push services have some hundred bytes.
    static let answerCapacity = 1_024
    /// A date has 29 bytes, and no useful number has more digits than this.
    static let retryAfterCapacity = 32

    /// 0 = free.
    var id: Int32 = 0
    var status: Int32 = 0
    /// The stream counts in the template's `uses` from `submit` to `release`: nghttp2 points into it until the request
    /// is sent.
    var template: Unmanaged<SharedRequest>?
    /// The request's body: its template's, or its own, which is freed with the template.
    var body: UnsafePointer<UInt8>?
    var bodyCount = 0
    var ownBody: UnsafeMutableBufferPointer<UInt8>?
    /// How many bytes of the body have been written.
    var bodySent = 0
    /// The position in the session's output at which the request begins.
    var position = 0
    var startedAt: Int64 = 0
    /// We have reset the stream.
    var isLate = false
    /// All fields of the answer are kept, in the session's `fields`.
    var isTraced = false
    /// How many bytes of `retry-after` are kept, directly after `answerCapacity` bytes of `answer`.
    var retryAfterCount = 0
    /// Allocated for the first answer that has something to keep, then kept with the slot.
    var answer: UnsafeMutablePointer<UInt8>?
    var answerCount = 0

    mutating func begin(
        id: Int32, template: SharedRequest, ownBody: UnsafeMutableBufferPointer<UInt8>?, position: Int,
        startedAt: Int64
    ) {
        let held = Unmanaged.passUnretained(template)
        if template.uses == 0 { _ = held.retain() }
        template.uses += 1
        self = StreamState(
            id: id, template: held, body: UnsafePointer(ownBody?.baseAddress ?? template.body),
            bodyCount: ownBody?.count ?? template.bodyCount, ownBody: ownBody, position: position, startedAt: startedAt,
            isTraced: template.isTraced,
            answer: answer)
    }

    mutating func letGoOfTemplate() {
        guard let template else { return }
        self.template = nil
        ownBody?.deallocate()
        (body, ownBody) = (nil, nil)
        let uses = template._withUnsafeGuaranteedRef {
            $0.uses -= 1
            return $0.uses
        }
        if uses == 0 { template.release() }
    }

    /// The memory for an answer: first the body, then `retry-after`.
    mutating func answerMemory() -> UnsafeMutablePointer<UInt8> {
        if let answer { return answer }
        let memory = UnsafeMutablePointer<UInt8>.allocate(
            capacity: Self.answerCapacity + Self.retryAfterCapacity)
        answer = memory
        return memory
    }

    mutating func keep(answer bytes: UnsafePointer<UInt8>, count: Int) {
        let kept = min(count, Self.answerCapacity - answerCount)
        guard kept > 0 else { return }
        (answerMemory() + answerCount).update(from: bytes, count: kept)
        answerCount += kept
    }

    mutating func keep(retryAfter bytes: UnsafePointer<UInt8>, count: Int) {
        retryAfterCount = min(count, Self.retryAfterCapacity)
        (answerMemory() + Self.answerCapacity).update(from: bytes, count: retryAfterCount)
    }
}
