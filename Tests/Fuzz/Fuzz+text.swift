import LiveActivity
import StrictJSON

@testable import Commands
@testable import HTTPAPI
@testable import Redis
@testable import Settings

/// JSON that is read can be read again from what is written of it, and every value can be asked for anything.
func fuzzJSON(_ bytes: [UInt8]) {
    guard let document = try? JSONDocument(bytes) else { return }
    visit(document.root, depth: 0)
    promise((try? JSONDocument(Array(document.root.raw))) != nil, "the raw text of a document is a document")
}

private func visit(_ value: JSONValue, depth: Int) {
    promise(depth <= JSONDocument.defaultMaximumDepth, "the depth is bounded")
    _ = (try? value.string(), try? value.integer(), try? value.double(), try? value.bool())
    _ = (value.path, value.location)
    for element in (try? value.array()) ?? [] { visit(element, depth: depth + 1) }
    if let object = try? value.object() {
        for key in ["a", "name", "audience", ""] { if let member = object[key] { visit(member, depth: depth + 1) } }
    }
}

func fuzzAudience(_ bytes: [UInt8]) {
    var warnings: [String] = []
    guard let document = try? JSONDocument(bytes) else { return }
    _ = try? AudienceBody.parse(document.root, warnings: &warnings)
}

func fuzzPublish(_ bytes: [UInt8]) {
    guard
        let pushes = try? PublishBody.parse(
            bytes, now: 1_790_000_000_000, .init(platforms: [.ios, .android], staleAfter: 60, marks: true))
    else {
        return
    }
    promise(pushes.count <= PublishBody.maximumPushes, "the number of pushes is bounded")
    for push in pushes {
        promise(push.payload.count <= 5_120, "no payload is larger than APNs takes")
        promise((try? JSONDocument(push.payload)) != nil, "a payload is JSON")
    }
}

/// Whatever the pieces are, the NDJSON that comes out has a line for each row, and each line is an object.
func fuzzCSV(_ bytes: [UInt8]) {
    for form in [CSVForm.followers, .tags, .users] {
        var lines = CSVLines(form)
        var out: [UInt8] = []
        do {
            for piece in pieces(bytes) { out += try lines.feed(piece) }
            out += try lines.finish()
        } catch { continue }
        for line in out.split(separator: UInt8(ascii: "\n")) {
            promise((try? JSONDocument(Array(line)).root.object()) != nil, "a row becomes an object")
        }
        _ = lines.line(of: 1)
    }
}

func fuzzNDJSON(_ bytes: [UInt8]) {
    var tags = BulkLines(batchSize: 1_000) { bytes throws(JSONError) in try ChannelBody.change(bytes) }
    var tokens = BulkLines(batchSize: 1_000) { bytes throws(JSONError) in
        try TrackBody.read(bytes, channel: nil, isStart: false, now: 1_790_000_000_000, catchesUp: false)
    }
    for piece in pieces(bytes) {
        for line in tags.lines.read(piece) {
            if case .text(let text) = line { promise(text.count <= 8 << 10, "a line is bounded") }
            tags.take(line)
        }
        for line in tokens.lines.read(piece) { tokens.take(line) }
    }
    if let line = tags.lines.finish() { tags.take(line) }
    if let line = tokens.lines.finish() { tokens.take(line) }
}

/// Cuts the input at sizes that its first byte gives, because a stream arrives in pieces of any size.
private func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
    guard let first = bytes.first else { return [] }
    let size = max(1, Int(first))
    return stride(from: 1, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
}

func fuzzURLs(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let url = try? RedisURL(text) { promise(!"\(url)".isEmpty, "a URL can be shown") }
    for field in AppField.all { _ = field.violation(text) }
    _ = PercentEncoding.query(text[...])
    _ = RouteMatch(method: "GET", path: text[...])
}

func fuzzSettings(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    do throws(SettingsError) {
        let settings = try Settings.load(SettingsInput(file: ("config/fuzz.yaml", text)))
        promise(SettingsChange(from: settings, to: settings, in: .worker).isEmpty, "nothing differs from itself")
    } catch {
        promise(!error.description.isEmpty, "an error says something")
    }
}

/// Replies of a Redis that says anything, in pieces of any size.
func fuzzReplies(_ bytes: [UInt8]) {
    guard let reader = try? ReplyReader(pieceBytes: 128 << 10) else { return }
    reader.expect(replies: 3)
    do throws(LinkFailure) {
        for piece in pieces(bytes) {
            let failure: LinkFailure? = piece.withUnsafeBytes { bytes in
                do throws(LinkFailure) {
                    try reader.feed(bytes)
                    return nil
                } catch { return error }
            }
            if let failure { throw failure }
            guard case .complete(let arena) = try reader.read() else { continue }
            for index in 0..<3 { visit(RedisReply(arena, index), depth: 0) }
            reader.expect(replies: 3)
        }
    } catch { return }
}

private func visit(_ reply: RedisReply, depth: Int) {
    promise(depth < 64, "the depth is bounded")
    _ = (try? reply.integer(), try? reply.string(), reply.error, reply.isNil)
    try? reply.forEachPair { _, _ in }
    for index in 0..<min(reply.count, 32) { visit(reply[index], depth: depth + 1) }
}
