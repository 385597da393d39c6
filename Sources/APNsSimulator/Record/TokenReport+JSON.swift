/// Written without an encoder, because `content_state` is raw JSON.
extension TokenReport {
    /// One object on one line.
    var json: [UInt8] { Array(#"{"token":"\#(token)",\#(receivedJSON)}"#.utf8) }

    /// The members about what was received.
    var receivedJSON: String {
        var out = #""count":\#(requests),"accepted":\#(accepted),"duplicates":\#(duplicates)"#
        out += #","out_of_order":\#(outOfOrder),"dropped_by_device":\#(droppedByDevice),"after_end":\#(afterEnd)"#
        out += #","ignored_by_device":\#(ignoredByDevice),"dead_answers":\#(deadAnswers)"#
        if let newest { out += #","newest":\#(newest),"backwards":\#(backwards ?? 0)"# }
        if let cards { out += #","cards":\#(cards)"# }
        if let timestamp { out += #","timestamp":\#(timestamp)"# }
        if let event { out += #","event":"\#(event)""# }
        // Line feeds appear only between the parts of JSON text, where a space means the same.
        if let contentState { out += #","content_state":\#(contentState.replacingLineBreaks)"# }
        if let alert { out += #","alert":\#(alert.replacingLineBreaks)"# }
        if let dismissalDate { out += #","dismissal_date":\#(dismissalDate)"# }
        return out
    }

    /// The same, with the history.
    var detailedJSON: [UInt8] { withHistory(json) }

    /// Adds the history to an object.
    func withHistory(_ json: [UInt8]) -> [UInt8] {
        json.dropLast() + Array(#","history":"#.utf8) + JSON.encode(history) + Array("}\n".utf8)
    }
}

extension String {
    var replacingLineBreaks: String {
        guard utf8.contains(where: { $0 == 0x0a || $0 == 0x0d }) else { return self }
        return String(decoding: utf8.map { $0 == 0x0a || $0 == 0x0d ? 0x20 : $0 }, as: UTF8.self)
    }
}
