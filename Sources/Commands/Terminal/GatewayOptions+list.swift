import Answers
import StrictJSON

extension GatewayOptions {
    /// Lists what a filter picks, and prints it as one answer. The gateway reads a bounded part of a large list for one
    /// call, so a page may be short or empty. The next ones are asked for until there are `limit` entries.
    /// - Parameters:
    ///   - member: the array of the answer
    ///   - request: for that many entries, from a position on
    func list<Body: AnswerBody>(
        _ member: String, limit: Int, after: String?, _ request: (_ limit: Int, _ after: String?) -> GatewayRequest,
        lines: (Body) -> [String]
    ) async throws {
        let client = try client()
        var (entries, total, next) = ([JSON](), JSON?.none, after)
        repeat {
            let answer = try await client.send(request(limit - entries.count, next))
            let page = try JSONDocument(answer).root.object()
            entries += try page.required(member).array().map { JSON($0) }
            total = total ?? page["total"].map { JSON($0) }
            next = try page["next"]?.string()
        } while next != nil && entries.count < limit
        let answer = JSON.fields([
            "ok": true, "total": total, member: .array(entries), "next": next.map(JSON.string),
        ]).bytes
        if json { return Terminal.print(json: answer) }
        lines(try GatewayClient.decode(answer)).forEach(Terminal.print)
    }
}
