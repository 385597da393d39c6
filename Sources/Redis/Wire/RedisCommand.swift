/// One command, encoded when it is made: a flat RESP array of bulk strings, ready to be copied into a batch.
public struct RedisCommand: Sendable {
    private(set) var encoded: [UInt8] = []
    /// Set for EVALSHA: the script, and the offset in `encoded` of the arguments after the digest.
    private(set) var script: (script: RedisScript, restOffset: Int, argumentCount: Int)?
    /// The slot whose node gets a command without keys in a cluster.
    private(set) var near: HashSlot?

    public init(_ name: String, _ arguments: [RedisArgument] = []) {
        encoded.reserveCapacity(32 + name.utf8.count + arguments.reduce(0) { $0 + $1.encodedBound })
        encoded.appendHeader(UInt8(ascii: "*"), 1 + arguments.count)
        encoded.appendBulk(name.utf8)
        for argument in arguments { argument.encode(into: &encoded) }
    }

    /// Makes a command whose first argument is a key.
    public init(_ name: String, _ key: RedisKey, _ arguments: [RedisArgument]) {
        self.init(name, [.key(key)] + arguments)
    }

    public init(_ name: String, _ key: RedisKey, _ arguments: RedisArgument...) { self.init(name, key, arguments) }

    /// Makes a command without keys (TIME, PING). In a cluster it goes to the node that owns `key`.
    public init(_ name: String, _ arguments: [RedisArgument] = [], near key: RedisKey) {
        self.init(name, arguments)
        near = HashSlot(key: key.description)
    }

    /// Makes a command from a key, followed by arguments that were encoded before.
    public init(_ name: String, _ key: RedisKey, _ packed: PackedArguments) {
        encoded.reserveCapacity(32 + name.utf8.count + RedisArgument.key(key).encodedBound + packed.encoded.count)
        encoded.appendHeader(UInt8(ascii: "*"), 2 + packed.count)
        encoded.appendBulk(name.utf8)
        RedisArgument.key(key).encode(into: &encoded)
        encoded.append(contentsOf: packed.encoded)
    }

    /// Makes an EVALSHA. Connections load their client's scripts, and a server that lost a script gets it again.
    ///
    /// A wrong number of keys or arguments ends the process, because the script would read a missing key as nil, or an
    /// argument as a key. A debug build also compares the labels with the script's names.
    public init(
        _ script: RedisScript, keys: KeyValuePairs<String, RedisKey>,
        _ arguments: KeyValuePairs<String, RedisArgument> = [:], rest: [RedisArgument] = []
    ) {
        guard keys.count == script.keys.count else {
            fatalError("the script \(script.name) has \(script.keys.count) keys, but is called with \(keys.count)")
        }
        guard arguments.count == script.arguments.count, rest.isEmpty || script.takesRest else {
            fatalError("the script \(script.name) has the arguments \(script.arguments), but is called with others")
        }
        assert(
            keys.map(\.key) == script.keys && arguments.map(\.key) == script.arguments,
            "the script \(script.name) has \(script.keys) and \(script.arguments), but is called with other labels")
        let keys = keys.map { RedisArgument.key($0.value) }
        let packed = arguments.reduce(0) { $0 + $1.value.packedCount }
        encoded.reserveCapacity(
            128 + packed + keys.reduce(0) { $0 + $1.encodedBound } + rest.reduce(0) { $0 + $1.encodedBound })
        let count = 1 + keys.count + (arguments.isEmpty ? 0 : 1) + rest.count
        encoded.appendHeader(UInt8(ascii: "*"), 2 + count)
        encoded.appendBulk("EVALSHA".utf8)
        encoded.appendBulk(script.digest.utf8)
        self.script = (script, encoded.count, count)
        RedisArgument.int(keys.count).encode(into: &encoded)
        for key in keys { key.encode(into: &encoded) }
        if !arguments.isEmpty {
            encoded.appendHeader(UInt8(ascii: "$"), packed)
            for argument in arguments { argument.value.pack(into: &encoded) }
            encoded.append(contentsOf: "\r\n".utf8)
        }
        for argument in rest { argument.encode(into: &encoded) }
    }

    /// This call as EVAL with the source. MULTI needs this: a missing script could not be loaded afterwards.
    var encodedWithSource: [UInt8] {
        guard let script else { return encoded }
        var out: [UInt8] = []
        out.reserveCapacity(encoded.count + script.script.source.utf8.count)
        out.appendHeader(UInt8(ascii: "*"), 2 + script.argumentCount)
        out.appendBulk("EVAL".utf8)
        out.appendBulk(script.script.source.utf8)
        out.append(contentsOf: encoded[script.restOffset...])
        return out
    }
}

/// Arguments that are encoded once for several commands, such as the channels of a page.
public struct PackedArguments: Sendable {
    fileprivate var encoded: [UInt8] = []
    public private(set) var count = 0

    public init(reservingBytes bytes: Int) { encoded.reserveCapacity(bytes) }

    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        encoded.appendBulk(bytes)
        count += 1
    }
}

extension [UInt8] {
    /// Writes headers such as `*12\r\n` and `$3\r\n`.
    fileprivate mutating func appendHeader(_ letter: UInt8, _ number: Int) {
        append(letter)
        if number < 10 {
            append(UInt8(ascii: "0") + UInt8(number))
        } else {
            var divisor = 10
            while number / divisor >= 10 { divisor *= 10 }
            while divisor > 0 {
                append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
                divisor /= 10
            }
        }
        append(UInt8(ascii: "\r"))
        append(UInt8(ascii: "\n"))
    }

    mutating func appendBulk(_ bytes: some Collection<UInt8>) {
        appendHeader(UInt8(ascii: "$"), bytes.count)
        append(contentsOf: bytes)
        append(UInt8(ascii: "\r"))
        append(UInt8(ascii: "\n"))
    }
}
