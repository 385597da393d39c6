/// The links to the pages before and after this one. The API's positions lead forward only, so the address remembers
/// where the pages before this one began.
enum Pager {
    /// The most pages that an address remembers.
    private static let mostBack = 20
    /// Where the first page begins.
    private static let first = "-"

    /// - Parameters:
    ///   - next: the API's word for where the next page begins; nil: this is the last
    ///   - keeping: fields of the query that the other pages need too
    static func values(
        _ visit: Visit, next: String?, keeping names: [String], as parameter: String = "after"
    ) -> Values {
        var query = Form()
        for name in names { if let text = visit.query.text(name) { query[name] = text } }
        let base = query.fields.map { "\($0.name)=\(Form.encoded($0.value))" }
        let path = visit.request.path
        func link(_ position: String?, _ back: [String]) -> String {
            var parts = base
            if let position, position != first { parts.append("\(parameter)=\(Form.encoded(position))") }
            if !back.isEmpty { parts.append("back=\(Form.encoded(back.joined(separator: " ")))") }
            return parts.isEmpty ? path : "\(path)?\(parts.joined(separator: "&"))"
        }
        let here = visit.query.text(parameter)
        let back = (visit.query.text("back") ?? "").split(separator: " ").suffix(mostBack).map(String.init)
        var links: Values = [:]
        if let next { links["next"] = link(next, Array((back + [here ?? first]).suffix(mostBack))) }
        if here != nil {
            links["first"] = link(nil, [])
            if let previous = back.last { links["previous"] = link(previous, back.dropLast()) }
        }
        if !links.isEmpty { links["any"] = true }
        links["export"] = Export.links(visit, keeping: names)
        return links
    }
}
