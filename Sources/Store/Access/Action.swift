import LiveActivity

/// One thing that a caller did with a secret, as the log of an app keeps it. It holds no secret, token or content.
public struct Action: Sendable, Hashable {
    /// The subject of the action. The raw value is the key in Redis and in the API.
    public enum Subject: String, Sendable, Hashable, CaseIterable {
        case name, push = "push_id", lastPush = "last_push_id", schedule = "schedule_id", channel
        case attributesType = "attributes_type", namedUser = "named_user", credential = "credential_id", entry
        /// Why, as the caller gave it.
        case reason
    }

    /// A word such as `pause`, maybe of a later version.
    public var kind: String
    /// The id of the caller's credential, such as `master`.
    public var credential: String
    /// The client's address, as far as trusted proxies tell it.
    public var address: String
    /// The person, if the console knows. Nil: any holder of the credential.
    public var who: String?
    /// The id of that person at the provider. Others may have the same name.
    public var whoID: String?
    /// The `operation_id` of the request, the last one of several.
    public var operation: String
    public var subjects: [Subject: String]
    /// How many pushes, channels … the action was about; of a sum of requests, the number of all together.
    public var count: Int
    /// The status of a call that failed and did a part, or may have. `count` is that part then, 0 if it is not known.
    /// Nil for a call that did all.
    public var failed: Int?

    public init(
        _ kind: String, credential: String, address: String, who: String? = nil, whoID: String? = nil,
        operation: String, subjects: [Subject: String] = [:], count: Int = 1, failed: Int? = nil
    ) {
        (self.kind, self.credential, self.address) = (kind, credential, address)
        (self.who, self.whoID) = (who, whoID)
        (self.operation, self.subjects, self.count, self.failed) = (operation, subjects, count, failed)
    }
}

/// Actions that are no calls of the API. Their credentials have ids that no caller's credential can have.
extension Action {
    /// A gateway on this machine has read other secrets or credentials of the app from its files.
    public static func reload(on machine: String) -> Action { ofMachine(.reload, "file", machine) }

    static func ofMachine(_ kind: ActionKind, _ credential: String, _ machine: String) -> Action {
        Action(kind.rawValue, credential: credential, address: machine, operation: UUIDBytes.random().description)
    }
}

/// An action of the log.
public struct LoggedAction: Sendable, Hashable {
    /// The id of the stream's entry. Its first part is the time.
    public var entry: String
    public var action: Action

    /// Epoch milliseconds.
    public var at: Int64 { entry.firstIndex(of: "-").flatMap { Int64(entry[..<$0]) } ?? 0 }
}

/// Which actions are wanted.
public struct ActionFilter: Sendable, Hashable {
    /// Empty: all.
    public var kinds: Set<String> = []
    /// The id of a credential, or a person's name or id.
    public var credential: String?
    public var name: String?
    /// Epoch ms: from the first one on, and before the second one.
    public var from: Int64 = 0
    public var to: Int64 = .max

    public init() {}

    func includes(_ action: Action) -> Bool {
        (kinds.isEmpty || kinds.contains(action.kind))
            && (credential == nil || [action.credential, action.who, action.whoID].contains(credential))
            && (name == nil || action.subjects[.name] == name)
    }
}
