import HTTPTypes
import LiveActivity
import OpenSSL
public import Store

/// The settings of the deployment that approval uses.
public struct ApprovalPolicy: Sendable {
    /// The publishes of callers with the scope `propose` that wait, in apps without a rule of their own.
    public var rule = ApprovalRule.all
    /// How long a proposal waits, from when it was made or was to go out.
    public var life: Duration = .seconds(3_600)
}

extension GatewayConfiguration {
    public var approval: ApprovalPolicy {
        get { extras[ApprovalPolicy.self] ?? ApprovalPolicy() }
        set { extras[ApprovalPolicy.self] = newValue }
    }
}

extension GatewayApp {
    /// The publishes of the app that wait. Nil: the deployment's rule names them.
    public var approvalRule: ApprovalRule? {
        get { extras[ApprovalRule.self] }
        set { extras[ApprovalRule.self] = newValue }
    }
}

extension Answer {
    static let proposalSubject = ("proposal_id", Action.Subject.entry)
}

extension Proposal.Person {
    /// - Parameters:
    ///   - credential: its id, or `master`
    ///   - whoID: the person's id at the provider; nil: a secret proves the credential alone
    static func identity(_ credential: String, whoID: String?) -> String {
        let text = whoID.map { "person \($0)" } ?? "credential \(credential)"
        return Hex.encode(SHA256Digest(of: text.utf8).prefix(16))
    }
}

extension Call {
    /// The caller, as two callers of a proposal are compared: the person, or all who have the credential.
    var person: Proposal.Person {
        Proposal.Person(
            identity: Proposal.Person.identity(caller.credential, whoID: caller.whoID), publisher: caller)
    }

    /// The call that the person who asked for a proposal would make now. The names were checked when it was proposed.
    init(publishing proposal: Proposal, of app: GatewayApp, operation: String, now: Int64) {
        var publisher = proposal.asker.publisher
        publisher.second = proposal.decision.map { Publisher.Second($0.by.publisher) }
        self.init(
            operation: operation, parameters: [:], query: [:], headers: HTTPFields(), origin: "", app: app,
            tokens: SDKTokens(app: app), credential: .master, caller: publisher,
            body: IncomingBody(whole: proposal.body), now: now)
    }
}
