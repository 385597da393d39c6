import NGHTTP2

/// A client session with requests in flight meets any bytes. The first bytes steer what the client does in between.
/// Each request ends once, and the output stays bounded, so that a flood of SETTINGS, PING or RST costs no memory.
func fuzzHTTP2(_ bytes: [UInt8]) {
    let capacity = 8
    guard let session = try? ClientSession(capacity: capacity),
        let template = SharedRequest(
            authority: "api.push.apple.com", fields: [("apns-topic", "a"), ("authorization", "bearer x")],
            body: Array(#"{"aps":{}}"#.utf8), isTraced: bytes.first.map { $0 & 1 == 1 } ?? false)
    else { return }
    let path = Array("/3/device/00".utf8)
    var (begun, ended) = (0, 0)
    /// The server takes nothing while the input says so.
    let takesOutput = bytes.dropFirst().first.map { $0 & 1 == 0 } ?? true
    func settle() {
        while let request = session.nextEnded() {
            ended += 1
            session.withAnswer(request.slot) { promise($0.count <= 1_024, "an answer is kept in part") }
            _ = (session.retryAfter(request.slot), session.hasUnsentBody(request.slot))
            _ = session.fields(request.slot)
            session.release(request.slot)
        }
        if takesOutput { session.withOutput { $0.count } }
        // One frame more than the limit may have been written.
        promise(session.outputBytes <= ClientSession.outputLimit + (32 << 10), "the output is bounded")
    }
    do throws(NGHTTP2Error) {
        var rest = bytes.dropFirst(2)[...]
        while let size = rest.popFirst() {
            let begunSlot = try path.withUnsafeBufferPointer { path throws(NGHTTP2Error) in
                try session.submit(template, path: path, now: Int64(begun))
            }
            if begunSlot != nil { begun += 1 }
            if size == 0xFF { try session.ping() }
            if size == 0xFE { _ = try session.endLate(startedBy: Int64(begun) - 2) }
            let piece = Array(rest.prefix(Int(size)))
            rest = rest.dropFirst(Int(size))
            let failure: NGHTTP2Error? = piece.withUnsafeBytes { bytes in
                do throws(NGHTTP2Error) {
                    try session.receive(bytes)
                    return nil
                } catch { return error }
            }
            if let failure { throw failure }
            settle()
        }
    } catch { settle() }
    session.endAll()
    settle()
    promise(begun == ended, "each of \(begun) requests ends once, not \(ended)")
}
