public import LiveActivity

/// The console's own records: sessions, attempts to sign in, drafts and templates. No call of the API is about them.
/// The gateway keeps them in Redis, so that every gateway behind a balancer knows them.
public protocol ConsoleRecords: Sendable {
    /// - Parameter life: of the session
    func begin(_ session: String, _ record: [UInt8], life: Duration) async throws
    /// - Parameter life: one that seems to last longer is cut to it
    func session(_ session: String, life: Duration) async throws -> [UInt8]?
    func end(_ session: String) async throws

    /// Counts a sign-in before its secret is checked, so that guesses at the same moment are all counted.
    /// - Returns: the attempts within `span` with this one, and the milliseconds until they are forgotten
    func attempt(_ subject: String, span: Duration) async throws -> (count: Int, left: Int)
    /// Takes back an attempt that was right.
    func succeed(_ subject: String, span: Duration) async throws

    /// The most templates of an app.
    var mostTemplates: Int { get }
    /// Templates by title, in byte order.
    func templates(_ app: AppKey) async throws -> [(title: String, body: [UInt8])]
    /// - Returns: false if the app has as many templates as it may have
    func keep(_ app: AppKey, template title: String, _ body: [UInt8]) async throws -> Bool
    func drop(_ app: AppKey, template title: String) async throws

    func draft(_ app: AppKey, of owner: String, _ id: String) async throws -> [UInt8]?
    /// The entries of the list of drafts.
    func draftTitles(_ app: AppKey, of owner: String) async throws -> [(id: String, body: [UInt8])]
    /// - Parameters:
    ///   - title: its entry in the list of drafts
    ///   - other: gives way if there are too many
    func keep(
        _ app: AppKey, of owner: String, draft id: String, _ body: [UInt8], title: [UInt8], insteadOf other: String?
    ) async throws
    func drop(_ app: AppKey, of owner: String, draft id: String) async throws

    /// The time at which the publish with this key goes out, epoch ms. The first click decides the time.
    func due(_ publish: String, at time: Int64) async throws -> Int64
}
