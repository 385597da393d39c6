import Answers
import LiveActivity
import StrictJSON

/// The answer to a dry run of the form: the size, whom it would reach, and what is wrong.
struct ComposeCheck {
    var shown = Values()
    /// The mistake that was found. Nil: none.
    private(set) var problem: Draft.Problem?
    private(set) var reach: ReachText?
    /// The feature that would hold it. Nil: none.
    private(set) var held: HeldPage?

    private static let titles = [
        "name": "Name", "event": "Event", "audience_value": "Audience", "platforms": "Platforms",
        "state": "Content state",
        "priority": "Priority", "alert_title": "Alert", "alert": "Alert", "stale_minutes": "Stale after",
        "relevance": "Relevance", "dismissal_minutes": "Leave on the lock screen",
        "attributes_type": "Attributes type", "attributes": "Attributes", "options": "Options", "send_at": "Send at",
    ]

    /// For a form that is not checked.
    init() {}

    /// The card that the form would make. A feature may draw it.
    /// - Parameter type: of the name's cards
    static func card(_ form: Form, _ visit: Visit, known type: String?) async -> Values {
        let compose = ComposeForm(form, now: visit.now)
        let alert = compose.alert.flatMap { try? JSONDocument($0.bytes).root.object() }
        let type = compose.startType ?? type
        return Card(
            app: visit.app.rawValue, name: compose.name, state: compose.state, alert: alert,
            isEnd: compose.event == "end", drawing: await visit.drawing(type), type: type,
            attributes: form.text("attributes").flatMap { try? JSONDocument($0).root.object() }, now: visit.now
        ).values
    }

    /// - Parameter counts: whether to count the devices, which reads all of them
    init(_ form: Form, _ visit: Visit, counts: Bool) async {
        let compose = ComposeForm(form, now: visit.now)
        do {
            let push = try compose.push(on: visit.platforms)
            if let time = try compose.sendAt(), !(visit.now...visit.now + ScheduledTimeAnswer.horizon).contains(time) {
                let message = time < visit.now ? "is in the past" : "must not be more than 366 days ahead"
                throw ComposeForm.Problem(field: "send_at", message: message)
            }
            let answer = try DryRunAnswer(
                await visit.call("POST", "/api/push/validate", query: counts ? "" : "reach=false", push))
            try await checkIsOpen(compose, visit)
            if let first = answer.pushes.first { show(first, compose, visit, counts: counts) }
            shown["warnings"] = (answer.warned.warnings ?? []).map(Self.words)
        } catch {
            refuse(await Self.problem(error, compose, visit))
        }
    }

    /// Refuses an update of a closed name, which the API would refuse. Until its time a start may open the name.
    private func checkIsOpen(_ compose: ComposeForm, _ visit: Visit) async throws {
        guard compose.event == "update", try compose.sendAt() == nil, compose.schedule == nil, compose.held == nil
        else { return }
        if try await visit.activity(compose.name)?.ended == true {
            let message = "was closed by an end. It takes updates again once a start or a new card opens it"
            throw ComposeForm.Problem(field: "name", message: message)
        }
    }

    private mutating func show(_ push: PreviewAnswer, _ compose: ComposeForm, _ visit: Visit, counts: Bool) {
        let reach = ReachText(push)
        self.reach = reach
        held = HeldPage.of(push.held)
        func size(_ bytes: Int, _ limit: Int, on platform: Platform? = nil) -> Values {
            sealed([
                "count": bytes, "limit": limit, "text": "\(Shown.count(bytes)) of \(Shown.count(limit)) bytes",
                "platform": platform.map { " on \(Shown.platform($0))" },
            ])
        }
        let sizes = Platform.all.compactMap { platform in
            push.platforms?.byPlatform[platform].map { size($0.payloadBytes, $0.payloadLimit, on: platform) }
        }
        shown["bytes"] = sizes.isEmpty ? [size(push.payloadBytes, push.payloadLimit)] : sizes
        guard counts else { return }
        let time = (try? compose.sendAt()).flatMap { Shown.time($0, now: visit.now) }
        shown["reach"] = values([
            "sentence": reach.sentence(compose, isInside: time != nil, isScheduled: time != nil), "time": time,
        ])
    }

    mutating func refuse(_ problem: Draft.Problem) {
        self.problem = problem
        shown["problem"] = problem.message
    }

    /// An error with the title of the field that it is about.
    static func problem(_ error: any Error, _ compose: ComposeForm, _ visit: Visit) async -> Draft.Problem {
        switch error {
        case let problem as ComposeForm.Problem:
            let title = titles[problem.field].map { "\($0): " } ?? ""
            return Draft.Problem(message: title + problem.message, field: problem.field, status: 422)
        case let failure as ConsoleFailure:
            let status = (400..<500).contains(failure.status) && failure.status != 400 ? failure.status : 422
            guard let path = failure.path, let plain = failure.plain else {
                return Draft.Problem(message: words(failure.message), field: nil, status: status)
            }
            if let match = path.firstMatch(of: /^notification\.[a-z]+\.[a-z_]+\.content_state\.(.+)$/) {
                let key = String(match.1)
                let activity = try? await visit.activity(compose.name)
                let type = try? await SchemaFields.type(of: compose.name, activity, visit)
                let fields = try? await SchemaFields.find(visit, compose, known: type)
                let text = String(plain.prefix { $0 != "(" }).trimmed
                guard let title = fields?.title(key) else {
                    return Draft.Problem(message: "Content state, \(key): \(text)", field: "state", status: status)
                }
                return Draft.Problem(message: "\(title) \(text).", field: SchemaFields.prefix + key, status: status)
            }
            let field = ComposeForm.field(ofPath: path)
            let message = field.flatMap { titles[$0] }.map { "\($0): \(plain)" } ?? words(failure.message)
            return Draft.Problem(message: message, field: field, status: status)
        default: return Draft.Problem(message: "An internal error occurred.", field: nil, status: 500)
        }
    }

    /// A text of the API with the titles of this page in place of paths: a page has no `notification`.
    static func words(_ text: String) -> String {
        let named = text.replacing(/notification\.[a-z]+\.live_[a-z]+\.([a-z_]+)/) { match in
            ComposeForm.field(ofPath: String(match.0)).flatMap { titles[$0] } ?? String(match.1)
        }
        let rest = named.replacing(/notification\.[a-z]+\.live_[a-z]+(: )?/) { $0.1 == nil ? "the push" : "" }
        return Shown.capitalized(rest)
    }
}
