import Delivery
import Lanes
import Synchronization

/// A platform that is unlike APNs where platforms differ (docs/adr/0047-platforms.md): each request has its address, a
/// text of 200 bytes, in its body; all share one path and an access token that expires; a 429 is for the whole project.
enum FakePush {
    static let name = PlatformName(label: "fake_push", title: "FakePush")
    static let path = "/v1/projects/lamplighter:send"
    /// The most bytes of an address that a page takes, and the usual ones.
    static let longestAddress = 255
    private static let addressBytes = 200

    static func push(_ number: Int) -> PreparedPush {
        let rest = #"","data":{"push":"\#(number)","state":"{\"home\":1}"}}}"#
        return PreparedPush(
            path: .shared(path), fields: [Exchange.Field("content-type", "application/json")],
            body: .ofEntry([.bytes(Array(#"{"message":{"token":""#.utf8)), .address, .bytes(Array(rest.utf8))]))
    }

    static func address(_ number: Int) -> [UInt8] { address(number, bytes: addressBytes) }

    /// Such a text, with the characters of registration tokens.
    static func address(_ number: Int, bytes: Int) -> [UInt8] {
        let start = Array("fake-\(number):APA91b_".utf8)
        return start + [UInt8](repeating: UInt8(ascii: "-"), count: bytes - start.count)
    }

    static func rejection(_ answer: LaneAnswer) -> Rejection {
        let text = String(decoding: answer.body, as: UTF8.self)
        let reasons = [
            "UNREGISTERED", "UNAUTHENTICATED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "UNAVAILABLE",
            "INVALID_ARGUMENT",
        ]
        let verdict: Verdict =
            switch answer.status {
            case 400: .stopPush
            case 401: .renewCredential
            case 403: .haltApp
            case 404: .pruneToken
            case 429: .pauseApp
            default: .retry
            }
        return Rejection(
            status: answer.status, reason: reasons.first { text.contains($0) } ?? "HTTP\(answer.status)",
            verdict: verdict, retryAfter: answer.retryAfter)
    }
}

/// Makes access tokens: `token-1`, `token-2`, … A refused one is replaced once, however many requests it was refused
/// for.
final class FakeAccessTokens: CredentialSource {
    private let number = Atomic(1)

    /// How many tokens were made.
    var count: Int { number.load(ordering: .relaxed) }
    static func secret(_ number: Int) -> String { "ya29.token-\(number)" }

    func current() -> PlatformCredential { credential(count) }

    func replacement(of refused: PlatformCredential, after rejection: Rejection) -> PlatformCredential? {
        guard rejection.verdict == .renewCredential else { return nil }
        let (made, newest) = number.compareExchange(
            expected: refused.issuedAt, desired: refused.issuedAt + 1, ordering: .relaxed)
        return credential(made ? newest + 1 : newest)
    }

    private func credential(_ number: Int) -> PlatformCredential {
        PlatformCredential(scheme: "Bearer", secret: Self.secret(number), issuedAt: number)
    }
}
