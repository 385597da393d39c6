import LiveActivity
import Store
import StrictJSON

struct BulkTrack {
    /// The longest line: 1,024 digits of a token, 128 bytes of a channel, and room for escapes.
    static let maximumLineBytes = 8 << 10
    static let batchSize = 1_000
    /// The most rejections that the response lists. All of them are counted.
    static let maximumListed = 1_000
    let place: TokenPlace
    let catchesUp: Bool
    let now: Int64
    var lines = LineReader(maximumBytes: BulkTrack.maximumLineBytes)
    private(set) var batch: [Registration] = []
    private(set) var appliedLines = 0
    private var line = 0
    private var accepted = 0
    private var stale = 0
    private var rejected: [JSON] = []
    private var rejectedCount = 0

    init(place: TokenPlace, catchesUp: Bool, now: Int64) {
        self.place = place
        self.catchesUp = catchesUp
        self.now = now
    }

    var isFull: Bool { batch.count >= Self.batchSize }

    /// Reads one line. Lines are counted from 1, and empty lines are skipped.
    mutating func take(_ text: LineReader.Line) {
        line += 1
        switch text {
        case .tooLong: reject("is longer than \(Self.maximumLineBytes) bytes")
        case .text(let bytes):
            if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return }
            do throws(JSONError) {
                batch.append(
                    try TrackBody.read(
                        bytes, channel: nil, isStart: place.isForStartTokens, now: now, catchesUp: catchesUp))
            } catch {
                reject(error.path.isEmpty ? error.message : "\(error.path): \(error.message)")
            }
        }
    }

    mutating func applied(_ results: [RegistrationResult]) {
        accepted += results.count
        stale += results.count { $0 == .stale }
        appliedLines = line
        batch.removeAll(keepingCapacity: true)
    }

    private mutating func reject(_ problem: String) {
        rejectedCount += 1
        if rejected.count < Self.maximumListed { rejected.append(["line": .integer(line), "error": .string(problem)]) }
    }

    /// `accepted` counts the applied lines. `stale` of them changed nothing: the stored registration is newer.
    var counts: [JSON.Member] {
        [
            JSON.Member("accepted", .integer(accepted)), JSON.Member("stale", .integer(stale)),
            JSON.Member("rejected", .array(rejected)), JSON.Member("rejected_count", .integer(rejectedCount)),
        ]
    }
}
