/// One request's slot in a `ClientSession`, used again and again. C's callbacks get its address as stream user data.
struct StreamState {
    /// The longest answer that is kept; the rest is dropped. APNs's answers have less than 200 bytes.
    static let answerCapacity = 1_024
    /// `apns-id` is a UUID.
    static let idCapacity = 36
    /// A date has 29 bytes, and no useful number has more digits than this.
    static let retryAfterCapacity = 32

    /// 0 = free.
    var id: Int32 = 0
    var status: Int32 = 0
    /// The stream counts in the template's `uses` from `submit` to `release`: nghttp2 points into it until the request
    /// is sent.
    var template: Unmanaged<SharedRequest>?
    /// How many bytes of the body have been written.
    var bodySent = 0
    /// The position in the session's output at which the request begins.
    var position = 0
    var startedAt: Int64 = 0
    /// We have reset the stream.
    var isLate = false
    /// All fields of the answer are kept, in the session's `fields`.
    var isTraced = false
    /// How many bytes of `retry-after` are kept, after the place of the id.
    var retryAfterCount = 0
    /// Allocated for the first answer that has something to keep, then kept with the slot.
    var answer: UnsafeMutablePointer<UInt8>?
    var answerCount = 0
    /// Valid with a status other than 200. The id is in `answer`'s memory directly after `answerCapacity` bytes.
    var idCount = 0

    mutating func begin(id: Int32, template: SharedRequest, position: Int, startedAt: Int64) {
        let held = Unmanaged.passUnretained(template)
        if template.uses == 0 { _ = held.retain() }
        template.uses += 1
        self = StreamState(
            id: id, template: held, position: position, startedAt: startedAt, isTraced: template.isTraced,
            answer: answer)
    }

    mutating func letGoOfTemplate() {
        guard let template else { return }
        self.template = nil
        let uses = template._withUnsafeGuaranteedRef {
            $0.uses -= 1
            return $0.uses
        }
        if uses == 0 { template.release() }
    }

    /// The memory for an answer: first the body, then the id, then `retry-after`.
    mutating func answerMemory() -> UnsafeMutablePointer<UInt8> {
        if let answer { return answer }
        let memory = UnsafeMutablePointer<UInt8>.allocate(
            capacity: Self.answerCapacity + Self.idCapacity + Self.retryAfterCapacity)
        answer = memory
        return memory
    }

    mutating func keep(answer bytes: UnsafePointer<UInt8>, count: Int) {
        let kept = min(count, Self.answerCapacity - answerCount)
        guard kept > 0 else { return }
        (answerMemory() + answerCount).update(from: bytes, count: kept)
        answerCount += kept
    }

    mutating func keep(id bytes: UnsafePointer<UInt8>, count: Int) {
        guard count <= Self.idCapacity else { return }
        (answerMemory() + Self.answerCapacity).update(from: bytes, count: count)
        idCount = count
    }

    mutating func keep(retryAfter bytes: UnsafePointer<UInt8>, count: Int) {
        retryAfterCount = min(count, Self.retryAfterCapacity)
        (answerMemory() + Self.answerCapacity + Self.idCapacity).update(from: bytes, count: retryAfterCount)
    }
}
