/// The link to the next page of a list.
enum Pager {
    /// - Parameters:
    ///   - next: the API's word for where the next page begins; nil: this is the last
    ///   - keeping: fields of the query that the next page needs too
    static func values(_ visit: Visit, next: String?, keeping names: [String], as parameter: String = "after") -> Values
    {
        var query = Form()
        for name in names { if let text = visit.query.text(name) { query[name] = text } }
        let base = query.fields.map { "\($0.name)=\(Form.encoded($0.value))" }
        let path = visit.request.path
        func link(_ parts: [String]) -> String { parts.isEmpty ? path : "\(path)?\(parts.joined(separator: "&"))" }
        return shown(
            next: next.map { link(base + ["\(parameter)=\(Form.encoded($0))"]) },
            first: visit.query.text(parameter) == nil ? nil : link(base))
    }

    private static func shown(next: String?, first: String?) -> Values {
        var links: Values = [:]
        if let next { links["next"] = next }
        if let first { links["first"] = first }
        if next != nil || first != nil { links["any"] = true }
        return links
    }
}
