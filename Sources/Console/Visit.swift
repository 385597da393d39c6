import Answers
import LiveActivity
import StrictJSON

/// One request of a signed-in browser.
struct Visit: Sendable {
    let console: Console
    let request: ConsoleRequest
    let session: ConsoleSession
    let statusStrip: StatusStrip
    /// The parameters of the path, decoded.
    let parameters: [String: String]
    let query: Form
    var form: Form
    /// Why the form was refused that was sent from this page.
    var refusal: ConsoleFailure?

    var app: AppKey { session.identity.app }
    var now: Int64 { request.now }
    var platforms: Set<Platform> { console.gateway.platforms(app) }

    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    func answer(
        _ method: String, _ path: String, query: String = "", _ body: JSON? = nil, key: String? = nil,
        as action: String? = nil
    ) async -> ConsoleAnswer {
        await answer(method, path, query: query, document: body?.bytes ?? [], key: key, as: action)
    }

    /// - Parameters:
    ///   - document: the body as somebody wrote it
    ///   - action: the word of the log of actions; nil: the call's own word
    func answer(
        _ method: String, _ path: String, query: String = "", document: [UInt8], key: String? = nil,
        as action: String? = nil
    ) async -> ConsoleAnswer {
        await console.gateway.call(
            session.identity,
            ConsoleCall(
                method: method, path: path, query: String(query.drop { $0 == "?" }), body: document,
                idempotencyKey: key, action: action, address: request.address, now: now))
    }

    /// Calls the API.
    /// - Throws: what it refused, as a `ConsoleFailure`
    @discardableResult
    func call(
        _ method: String, _ path: String, query: String = "", _ body: JSON? = nil, key: String? = nil,
        as action: String? = nil
    ) async throws -> ConsoleAnswer {
        let answer = await answer(method, path, query: query, body, key: key, as: action)
        guard (200..<300).contains(answer.status) else { throw ConsoleFailure(answer) }
        return answer
    }

    func get<Body: AnswerBody>(_ path: String, query: String = "") async throws -> Body {
        try Body(await call("GET", path, query: query))
    }

    /// About how many targets a push to everyone who follows will have, while its ledger still counts them. Nil: the
    /// ledger has counted them, or the number is unknown.
    func expected(_ ledger: LedgerAnswer) async -> Int? {
        let isUnderWay = ["queued", "sending"].contains(ledger.state)
        guard isUnderWay, !ledger.expanded, ledger.event != "start" else { return nil }
        let path = "/api/push/\(Form.encoded(ledger.pushID))/content"
        guard let content: ContentAnswer = try? await find(path), content.isForEveryone,
            let name: ActivityAnswer = try? await find("/api/activities/\(Form.encoded(ledger.name))")
        else { return nil }
        return max(name.tokens, ledger.targets)
    }

    /// The API's answer to a GET. Nil if it is a 404.
    func find<Body: AnswerBody>(_ path: String, query: String = "") async throws -> Body? {
        try await found(path, query: query).map { try Body($0) }
    }

    /// Something that a page can do without, because the reader may not have it. Nil: so it is, or there is none.
    /// - Throws: a failure that passes, such as Redis that does not answer. A page that went on without an answer would
    ///   show that there is nothing.
    func allowed<Value>(_ read: () async throws -> Value?) async throws -> Value? {
        do { return try await read() } catch let failure as ConsoleFailure where failure.isFinal { return nil }
    }

    /// The API's answer to a GET that a page can do without, as above.
    func allowed<Body: AnswerBody>(_ path: String, query: String = "") async throws -> Body? {
        try await allowed { try await find(path, query: query) }
    }

    /// The state of a name. Nil: the name is unknown, or the reader may not know it.
    func activity(_ name: String) async throws -> ActivityAnswer? {
        try await allowed("/api/activities/\(Form.encoded(name))")
    }

    /// The bytes of an answer that somebody else wrote, such as a schema.
    func find(_ path: String) async throws -> [UInt8]? { try await found(path)?.body }

    private func found(_ path: String, query: String = "") async throws -> ConsoleAnswer? {
        let answer = await answer("GET", path, query: query)
        if answer.status == 404 { return nil }
        guard (200..<300).contains(answer.status) else { throw ConsoleFailure(answer) }
        return answer
    }

    /// A page of a list. A call of the API reads a bounded part, so a filter may leave its answer short: then this
    /// reads on for a moment.
    /// - Parameters:
    ///   - parameter: says where a page begins
    ///   - position: where it begins; nil: what the address says
    ///   - isWanted: a filter that the API does not have
    func list<Page: AnswerBody, Row>(
        _ path: String, _ entries: (Page) -> [Row], next following: (Page) -> String?,
        _ fields: KeyValuePairs<String, String?>, limit: Int, as parameter: String = "after",
        after position: String? = nil, where isWanted: (Row) -> Bool = { _ in true }
    ) async throws -> (rows: [Row], next: String?) {
        let end = ContinuousClock.now + .milliseconds(40)
        var rows: [Row] = []
        var next = position ?? query.text(parameter)
        repeat {
            let position = Form.query(["limit": "\(limit - rows.count)", parameter: next])
            let rest = Form.query(fields).dropFirst()
            let page: Page = try await get(path, query: rest.isEmpty ? position : "\(position)&\(rest)")
            rows += entries(page).filter(isWanted)
            next = following(page)
        } while next != nil && rows.count < limit && ContinuousClock.now < end
        return (rows, next)
    }

    /// The entries of a whole list, as far as one decision can be about them.
    func all<Row>(
        _ page: (_ position: String?) async throws -> (rows: [Row], next: String?)
    ) async throws -> [Row] {
        let end = ContinuousClock.now + .seconds(10)
        var (rows, next) = ([Row](), String?.none)
        repeat {
            let found = try await page(next)
            rows += found.rows
            next = found.next
        } while next != nil && rows.count <= Bulk.most && ContinuousClock.now < end
        return rows
    }

    /// The strip of this moment, for a part that lives. A page has looked already.
    func strip(withQueue: Bool = false) async -> StatusStrip {
        StatusStrip(await console.gateway.state(session.identity, withQueue))
    }

    func page(_ template: String, _ title: String, _ values: Values, status: Int = 200) -> ConsoleResponse {
        console.render(
            template, values, title: title, session: session, statusStrip: statusStrip, request, status: status,
            refusal: refusal?.message)
    }

    /// Asks before something that cannot be undone: shows the sentence and a button that posts the same form again.
    /// - Parameters:
    ///   - isSafe: it can be undone, so the button is not red
    ///   - asked: the form that is posted again; nil: the form that was sent
    /// - Returns: nil once the button was pressed.
    func confirmation(
        _ title: String, _ sentence: String, button: String, back: String, isSafe: Bool = false, asked: Form? = nil
    ) -> ConsoleResponse? {
        guard form["confirmed"] != "yes" else { return nil }
        let fields = (asked ?? form).fields.filter { $0.name != "csrf" }.map {
            ["name": $0.name, "value": $0.value] as Values
        }
        return page(
            "confirm", title,
            values([
                "title": title, "sentence": sentence, "button": button, "back": back, "action": request.path,
                "fields": fields, "safe": isSafe ? true : nil,
            ]))
    }

    func redirect(_ path: String, _ notice: Notice? = nil) -> ConsoleResponse {
        .redirect(path + (notice.map { (path.contains("?") ? "&" : "?") + "notice=\($0.word)" } ?? ""))
    }
}
