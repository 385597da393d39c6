package import LiveActivity
internal import Redis

/// The values of a reply that were not read yet: of a script's answer, or of the commands of a pipeline. They are read
/// in order. Each has a name and a type where it is read, so that no caller counts positions.
package struct ReplyValues {
    private var rest: ArraySlice<Reply>

    package init(_ reply: Reply) throws(StoreError) { rest = try reply.array()[...] }
    package init(_ replies: [Reply]) { rest = replies[...] }

    package var isEmpty: Bool { rest.isEmpty }

    package mutating func next<Value>(_ field: ReplyField<Value>) throws(StoreError) -> Value {
        guard let reply = rest.popFirst() else { throw .unexpectedReply("\(field.name): the reply ends before it") }
        do throws(StoreError) { return try field.read(reply)() } catch {
            if case .redis(.unexpectedReply(let what)) = error { throw .unexpectedReply("\(field.name): \(what)") }
            throw error
        }
    }

    /// Reads the only value that is left.
    package mutating func last<Value>(_ field: ReplyField<Value>) throws(StoreError) -> Value {
        let value = try next(field)
        try end()
        return value
    }

    /// Reads all values that are left.
    package mutating func all<each Value>(
        _ field: repeat ReplyField<each Value>
    ) throws(StoreError) -> (repeat each Value) {
        let values = (repeat try next(each field))
        try end()
        return values
    }

    private func end() throws(StoreError) {
        if !isEmpty { throw .unexpectedReply("\(rest.count) values too many") }
    }
}

extension Reply {
    /// Reads an array that consists of these values.
    package func values<each Value>(
        _ field: repeat ReplyField<each Value>
    ) throws(StoreError) -> (repeat each Value) {
        try array().values(repeat each field)
    }
}

extension [Reply] {
    /// Reads the replies to a pipeline of so many commands.
    package func values<each Value>(
        _ field: repeat ReplyField<each Value>
    ) throws(StoreError) -> (repeat each Value) {
        var values = ReplyValues(self)
        return try values.all(repeat each field)
    }
}

/// A value of a reply: its name, which errors tell, and the accessor that reads it.
package struct ReplyField<Value> {
    fileprivate let name: String
    fileprivate let read: (Reply) -> () throws(StoreError) -> Value

    package init(_ name: String, _ read: @escaping (Reply) -> () throws(StoreError) -> Value) {
        (self.name, self.read) = (name, read)
    }
}

extension ReplyField {
    package static func any(_ name: String) -> Self where Value == Reply { Self(name) { reply in { reply } } }
    package static func integer(_ name: String) -> Self where Value == Int { Self(name, Reply.integer) }
    package static func redisTime(_ name: String) -> Self where Value == Int64 { Self(name, Reply.redisTime) }
    package static func time(_ name: String) -> Self where Value == Int64 { Self(name, Reply.time) }
    package static func firstTime(_ name: String) -> Self where Value == Int64? { Self(name, Reply.firstTime) }
    package static func optionalTime(_ name: String) -> Self where Value == Int64? { Self(name, Reply.optionalTime) }
    package static func optionalNumber(_ name: String) -> Self where Value == Int? { Self(name, Reply.optionalNumber) }
    package static func flag(_ name: String) -> Self where Value == Bool { Self(name, Reply.isOne) }
    package static func string(_ name: String) -> Self where Value == String { Self(name, Reply.string) }
    package static func optionalString(_ name: String) -> Self where Value == String? {
        Self(name, Reply.optionalString)
    }
    package static func strings(_ name: String) -> Self where Value == [String] { Self(name, Reply.strings) }
    package static func bytes(_ name: String) -> Self where Value == ArraySlice<UInt8> { Self(name, Reply.bytes) }
    package static func optionalBytes(_ name: String) -> Self where Value == ArraySlice<UInt8>? {
        Self(name, Reply.optionalBytes)
    }
    package static func byteStrings(_ name: String) -> Self where Value == [[UInt8]] { Self(name, Reply.byteStrings) }
    package static func array(_ name: String) -> Self where Value == [Reply] { Self(name, Reply.array) }
    package static func hash(_ name: String) -> Self where Value == StoredHash { Self(name, Reply.hash) }
    package static func push(_ name: String) -> Self where Value == PushID? { Self(name, Reply.push) }
}
