import Curl
import Foundation

/// The simulator's record. The judge uses no other source about devices.
struct Record: Sendable {
    var tokens: [TokenID: Received] = [:]
    /// How many tokens are not of this run.
    var strangers = 0
    var totals: [String: Int] = [:]

    static func read(_ controlURL: String) async throws -> Record {
        let totals = try await get(controlURL + "/record")
        let lines = try await get(controlURL + "/tokens")
        var record = Record()
        record.totals = ((try? JSONSerialization.jsonObject(with: Data(totals))) as? [String: Any] ?? [:])
            .compactMapValues { $0 as? Int }
        lines.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count, let base = bytes.baseAddress {
                let feed = memchr(base + start, 0x0a, bytes.count - start).map { UnsafeRawPointer($0) - base }
                let end = feed ?? bytes.count
                record.add(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end + 1
            }
        }
        return record
    }

    static func get(_ url: String) async throws -> [UInt8] {
        // The histories of all tokens may have hundreds of megabytes. The limit only ends a hang.
        let request = HTTPRequest("GET", url, timeout: .seconds(900))
        let response = try await HTTPClient().send(request, maximumBody: 1 << 30)
        guard response.status == 200 else { throw ChaosFailure("\(url) answered \(response.status)") }
        return response.body
    }

    /// The requests of one token, oldest first.
    static func history(_ controlURL: String, _ id: TokenID) async throws -> [Request] {
        Request.history(try await get(controlURL + "/tokens/" + Tokens.hex(id)))
    }

    /// The requests of many tokens, with one call.
    static func histories(_ controlURL: String, _ ids: Set<TokenID>) async throws -> [TokenID: [Request]] {
        let lines = try await get(controlURL + "/tokens?history=1")
        var histories: [TokenID: [Request]] = [:]
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            guard let id = Tokens.id(line.dropFirst(prefix.utf8.count)), ids.contains(id) else { continue }
            histories[id] = Request.history(Array(line))
        }
        return histories
    }

    struct BroadcastChannel: Sendable {
        var id: String
        var isDeleted: Bool
        /// Its requests, oldest first.
        var history: [Request]
    }

    /// All broadcast channels at APNs.
    static func broadcastChannels(_ controlURL: String) async throws -> [BroadcastChannel] {
        let lines = try await get(controlURL + "/channels")
        var channels: [BroadcastChannel] = []
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            let json = (try? JSONSerialization.jsonObject(with: Data(line))) as? [String: Any] ?? [:]
            guard let id = json["channel"] as? String else { continue }
            let path = id.replacing("/", with: "%2F").replacing("+", with: "%2B").replacing("=", with: "%3D")
            channels.append(
                BroadcastChannel(
                    id: id, isDeleted: json["deleted_at_ms"] != nil,
                    history: Request.history(try await get(controlURL + "/channels/" + path))))
        }
        return channels
    }

    static func reset(_ controlURL: String) async throws {
        _ = try await HTTPClient().send(HTTPRequest("POST", controlURL + "/reset", timeout: .seconds(30)))
    }

    private static let prefix = #"{"token":""#

    private mutating func add(_ line: UnsafeRawBufferPointer) {
        let start = Self.prefix.utf8.count
        guard line.count > start, let id = Tokens.id(line.dropFirst(start)) else {
            strangers += line.isEmpty ? 0 : 1
            return
        }
        var received = Received()
        received.accepted = Self.number(#""accepted":"#, line) ?? 0
        received.duplicates = Self.number(#""duplicates":"#, line) ?? 0
        received.newest = Self.number(#""newest":"#, line)
        received.backwards = Self.number(#""backwards":"#, line) ?? 0
        received.afterEnd = Self.number(#""after_end":"#, line) ?? 0
        received.deadAnswers = Self.number(#""dead_answers":"#, line) ?? 0
        received.isEnd = Self.find(#""event":"end""#, line) != nil
        received.shown = Self.number(#""content_state":{"n":"#, line)
        if received.isEnd {
            received.end = Self.number(#""dismissal_date":"#, line).map { $0 - Activity.dismissal } ?? received.shown
        }
        tokens[id] = received
    }

    /// The offset after the text in the line. The text must begin with a quotation mark.
    private static func find(_ text: StaticString, _ line: UnsafeRawBufferPointer) -> Int? {
        guard let base = line.baseAddress else { return nil }
        let length = text.utf8CodeUnitCount
        var start = base
        let end = base + line.count
        while end - start >= length, let quote = memchr(start, 0x22, end - start) {
            if end - UnsafeRawPointer(quote) >= length, memcmp(quote, text.utf8Start, length) == 0 {
                return UnsafeRawPointer(quote) - base + length
            }
            start = UnsafeRawPointer(quote) + 1
        }
        return nil
    }

    private static func number(_ key: StaticString, _ line: UnsafeRawBufferPointer) -> Int? {
        guard let start = find(key, line) else { return nil }
        var value = 0
        for byte in line[start...] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return value
    }
}
