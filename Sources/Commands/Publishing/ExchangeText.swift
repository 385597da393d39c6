import LiveActivity
import StrictJSON

/// One request to APNs or FCM and its answer, for a person.
enum ExchangeText {
    /// - Parameter exchange: as `Exchange.json` writes it
    static func lines(_ exchange: JSONObject) throws(JSONError) -> [String] {
        func text(_ key: String) throws(JSONError) -> String { try exchange.required(key).string() }
        var lines = ["POST \(try text("origin"))\(try text("path"))"]
        if let attempt = exchange["attempt"] { lines[0] += " (attempt \(try attempt.integer()))" }
        lines += try fields(exchange["headers"])
        lines += ["", String(decoding: try exchange.required("payload").raw, as: UTF8.self), ""]
        let (sent, ended) = (try text("sent_at"), try text("ended_at"))
        let duration = " after \((TimeText.parse(ended) ?? 0) - (TimeText.parse(sent) ?? 0)) ms"
        if let status = try exchange["status"]?.integer() {
            let reason = try exchange["reason"].map { (value) throws(JSONError) in " \(try value.string())" } ?? ""
            lines.append("\(status)\(reason)\(duration)")
            lines += try fields(exchange["answer_headers"])
        } else {
            lines.append("no answer: \(try text("no_answer"))\(duration)")
        }
        return lines + ["sent \(sent), ended \(ended)"]
    }

    private static func fields(_ value: JSONValue?) throws(JSONError) -> [String] {
        guard let value else { return [] }
        return try value.object().members.map { (member) throws(JSONError) in
            "\(member.key): \(try member.value.string())"
        }
    }
}
