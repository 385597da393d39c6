import LiveActivity

/// A kind of small records of an app that people made for the console.
public struct AppRecord: Sendable, Hashable {
    public let rawValue: String
    /// All records of an app, with their names.
    let all: @Sendable (Store, AppKey) async throws(StoreError) -> [(name: String, record: [UInt8])]
    /// Keeps a record, if the app has none of the name and room for it.
    /// - Returns: whether it did
    let add: @Sendable (Store, AppKey, String, [UInt8]) async throws(StoreError) -> Bool

    public static let allCases = [template] + ofFeatures

    public init?(rawValue: String) {
        guard let kind = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = kind
    }

    private init(
        rawValue: String,
        all: @escaping @Sendable (Store, AppKey) async throws(StoreError) -> [(name: String, record: [UInt8])],
        add: @escaping @Sendable (Store, AppKey, String, [UInt8]) async throws(StoreError) -> Bool
    ) {
        (self.rawValue, self.all, self.add) = (rawValue, all, add)
    }

    init(_ rawValue: String, _ records: @escaping @Sendable (Store) -> NamedRecords) {
        self.init(rawValue: rawValue) { store, app throws(StoreError) in
            try await records(store).all(app)
        } add: { store, app, name, record throws(StoreError) in
            if try await records(store).find(app, name) != nil { return false }
            return try await records(store).set(app, name, record)
        }
    }

    /// A push with a title, to be sent again and again.
    static let template = AppRecord(rawValue: "template") { store, app throws(StoreError) in
        try await store.console.templates(app).map { ($0.title, $0.body) }
    } add: { store, app, title, body throws(StoreError) in
        if try await store.console.templates(app).contains(where: { $0.title == title }) { return false }
        return try await store.console.keep(app, template: title, body)
    }

    public static func == (one: AppRecord, other: AppRecord) -> Bool { one.rawValue == other.rawValue }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}
