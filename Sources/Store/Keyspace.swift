import LiveActivity
import Redis

/// Names of all keys; docs/keyspace.md lists them with type, life and writer. The part between braces is the hash tag:
/// keys that one script touches share it, so they lie on one node of a cluster.
public struct Keyspace: Sendable {
    public static let defaultPrefix = "ll"
    let prefix: String

    /// The hash tag of a name: all of its keys lie on one slot. Braces and percent signs of the name are written `%XX`,
    /// so that no name can close the tag early or look like another.
    func tag(_ app: AppKey, _ name: ActivityName) -> String {
        "{\(app.rawValue):\(Self.escaped(name.rawValue))}"
    }

    static func escaped(_ text: String) -> String {
        text.percentEncoded { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") || $0 == UInt8(ascii: "%") }
    }

    /// Name meta: `seq` `ts` `last` `ended` `active` `catch` `arrivals` `cut` `woken` `paced`.
    func name(_ tag: String) -> String { "\(prefix):n:\(tag)" }
    /// The name's pushes that no sweep has finished, by sequence.
    func unswept(_ tag: String) -> String { "\(prefix):q:\(tag)" }
    /// One push: record and ledger.
    func push(_ tag: String, _ id: PushID) -> String { pushPrefix(tag) + id.description }
    func pushPrefix(_ tag: String) -> String { "\(prefix):p:\(tag):" }
    /// Its shards: epoch, owner, deadline, position of each; and how much of it waits or is owed.
    func tasks(_ tag: String, _ id: PushID) -> String { tasksPrefix(tag) + id.description }
    func tasksPrefix(_ tag: String) -> String { "\(prefix):w:\(tag):" }
    /// Channels that wait for an attempt, by due time.
    func retries(_ tag: String) -> String { "\(prefix):r:\(tag)" }
    /// What each of them is still owed.
    func waiting(_ tag: String) -> String { "\(prefix):h:\(tag)" }
    /// The lease on them.
    func retryLease(_ tag: String) -> String { "\(prefix):l:\(tag)" }
    /// Channels that registered a token behind the sweep that runs.
    func catchUp(_ tag: String) -> String { "\(prefix):k:\(tag)" }
    /// Channels that began to follow after an `end` of the name was accepted, by the time they did (epoch ms).
    func newFollowers(_ tag: String) -> String { "\(prefix):y:\(tag)" }
    /// The newest states by audience.
    func states(_ tag: String) -> String { "\(prefix):v:\(tag)" }
    /// Channels that began to follow and are owed the state that they missed.
    func late(_ tag: String) -> String { "\(prefix):f:\(tag)" }
    /// Channels that were started by a push and have not told their token yet.
    func awaited(_ tag: String) -> String { "\(prefix):a:\(tag)" }
    /// Removals that were decided and not yet applied to the registry.
    func owed(_ tag: String) -> String { "\(prefix):o:\(tag)" }
    /// Bucket 0 of the name's tokens.
    func root(_ tag: String) -> String { "\(prefix):b:\(tag)" }

    /// Where a push id leads: app and name.
    func index(_ id: PushID) -> String { "\(prefix):i:{\(id)}" }
    func idempotency(_ app: AppKey, _ key: String) -> String { "\(prefix):idem:{\(app):\(Self.escaped(key))}" }
    func alarm(_ app: AppKey) -> String { "\(prefix):alarm:{\(app)}" }
    /// The provider token that an app's workers share; `key` names the signing key.
    func providerToken(_ app: AppKey, _ key: String) -> String { "\(prefix):jwt:{\(app):\(Self.escaped(key))}" }

    /// The hash tag of what a whole deployment shares.
    static let queue = "{q}"

    /// All streams and timers share one slot: a blocking read may name many streams only there.
    func stream(_ app: AppKey, _ kind: WorkStream) -> String { "\(prefix):{q}:\(app):\(kind.rawValue)" }
    /// An app's tasks that wait for their time.
    func due(_ app: AppKey) -> String { "\(prefix):{q}:\(app):due" }
    /// An app's schemas by attributes type.
    func schemas(_ app: AppKey) -> String { "\(prefix):schemas:{\(app)}" }
    /// An app's schedules that wait, by due time.
    func at(_ app: AppKey) -> String { "\(prefix):{q}:\(app):at" }
    /// An app's names by when cards of theirs are to be ended (epoch ms).
    func ends(_ app: AppKey) -> String { "\(prefix):{q}:\(app):end" }
    /// Those that workers are looking at, with their cutoffs.
    func endsInHand(_ app: AppKey) -> String { "\(prefix):{q}:\(app):end:h" }
    /// After how long cards were to be ended when all of the app's names were noted there.
    func endsAfter(_ app: AppKey) -> String { "\(prefix):{q}:\(app):end:after" }
    /// One schedule.
    func schedule(_ app: AppKey, _ id: PushID) -> String { "\(prefix):at:{\(app):\(id)}" }
    /// An app's names with committed work, by the time of the last commit or look: what the reconciler looks through.
    func open(_ app: AppKey) -> String { "\(prefix):{q}:\(app):open" }
}
