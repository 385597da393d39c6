import LiveActivity
import StrictJSON

/// Which columns a CSV file of `import` has, and what NDJSON its lines become. The keys of NDJSON are the columns.
struct CSVForm: Sendable {
    /// The cells of one line that are not empty.
    typealias Cells = [(column: String, field: String)]

    var columns: [String]
    /// A header needs one column of each list.
    var required: [[String]]
    /// The members of a line's object.
    var members: @Sendable (Cells) throws(CSVProblem) -> [JSON.Member]
}

/// The mistake in one line.
struct CSVProblem: Error { var text: String }

extension CSVForm {
    /// The column for `{"options":{"catch_up":…}}` in NDJSON.
    private static let catchUp = "options.catch_up"

    /// One registration a line.
    static let followers = CSVForm(
        columns: [
            "channel", "token", "registered_at_ms", "started_at_ms", "activity_id", "frequent_pushes_enabled",
            "platform", "fid", catchUp,
        ],
        // Android channels have an address already, or an installation id.
        required: [["channel"], ["token", "platform"]]
    ) { cells throws(CSVProblem) in
        cells.map { column, field in
            // The values of these columns stay text, even if a field looks like a number.
            let value: JSON =
                ["channel", "token", "activity_id", "platform", "fid"].contains(column) ? .string(field) : number(field)
            return column == catchUp ? JSON.Member("options", ["catch_up": value]) : JSON.Member(column, value)
        }
    }

    /// One tag of a channel a line.
    static let tags = CSVForm(columns: ["channel", "tag", "group", "action"], required: [["channel"], ["tag"]]) {
        cells throws(CSVProblem) in
        func cell(_ column: String) -> String? { cells.first { $0.column == column }?.field }
        guard let tag = cell("tag") else { throw CSVProblem(text: "tag: is empty") }
        let action = cell("action") ?? "add"
        guard action == "add" || action == "remove" else { throw CSVProblem(text: "action: must be add or remove") }
        let groups = JSON.object([JSON.Member(cell("group") ?? Audience.deviceGroup, [.string(tag)])])
        return channel(cells) + [JSON.Member(action, groups)]
    }

    /// One channel and its user a line. An empty user is an error, because it would remove the user that is there.
    static let users = CSVForm(columns: ["channel", "named_user_id"], required: [["channel"], ["named_user_id"]]) {
        cells throws(CSVProblem) in
        guard let user = cells.first(where: { $0.column == "named_user_id" })?.field else {
            throw CSVProblem(text: "named_user_id: is empty. NDJSON can remove a user, with null")
        }
        return channel(cells) + [JSON.Member("named_user_id", .string(user))]
    }

    /// Empty if the line has none. The gateway says then that it is required.
    private static func channel(_ cells: Cells) -> [JSON.Member] {
        cells.filter { $0.column == "channel" }.map { JSON.Member("channel", .string($0.field)) }
    }

    /// Numbers and flags, in JSON's form: without a plus or zeros before them. Everything else is quoted, so that the
    /// gateway can name the problem.
    private static func number(_ field: String) -> JSON {
        if let number = Int64(field) { return .integer(number) }
        return field == "true" || field == "false" ? .bool(field == "true") : .string(field)
    }
}
