/// The bytes of one argument. Strings and integers may be literals. Use `.bytes` for binary data.
public struct RedisArgument: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByStringInterpolation
{
    private enum Form: Sendable {
        case text(String)
        case number(Int64)
        case large(UInt64)
        case bytes(ArraySlice<UInt8>)
    }
    private let form: Form

    private init(_ form: Form) { self.form = form }
    public init(stringLiteral value: String) { form = .text(value) }
    public init(integerLiteral value: Int) { form = .number(Int64(value)) }
    public static func key(_ key: RedisKey) -> RedisArgument { RedisArgument(.text(key.description)) }
    public static func string(_ text: String) -> RedisArgument { RedisArgument(.text(text)) }
    /// A number in decimal. It must fit into 64 bits, signed or unsigned.
    public static func int(_ number: some BinaryInteger) -> RedisArgument {
        Int64(exactly: number).map { RedisArgument(.number($0)) } ?? RedisArgument(.large(UInt64(number)))
    }
    /// Binary data. An array or its slice is kept without a copy.
    public static func bytes(_ bytes: some Collection<UInt8>) -> RedisArgument {
        if let slice = bytes as? ArraySlice<UInt8> { return RedisArgument(.bytes(slice)) }
        if let array = bytes as? [UInt8] { return RedisArgument(.bytes(array[...])) }
        return RedisArgument(.bytes(ArraySlice(bytes)))
    }

    private var count: Int {
        switch form {
        case .text(let text): text.utf8.count
        case .number(let number): number.description.utf8.count
        case .large(let number): number.description.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }

    /// An upper bound of the bytes that `encode` writes.
    var encodedBound: Int {
        switch form {
        case .text, .bytes: count + 16
        case .number, .large: 32
        }
    }

    /// How many bytes `pack` writes.
    var packedCount: Int { count + (count < 1 << 5 ? 1 : count < 1 << 16 ? 3 : 5) }

    /// Writes a string of MessagePack.
    func pack(into out: inout [UInt8]) {
        let size = count
        if size < 1 << 5 {
            out.append(0xA0 | UInt8(size))
        } else {
            out.append(size < 1 << 16 ? 0xDA : 0xDB)
            if size >= 1 << 16 {
                out.append(UInt8(truncatingIfNeeded: size >> 24))
                out.append(UInt8(truncatingIfNeeded: size >> 16))
            }
            out.append(UInt8(truncatingIfNeeded: size >> 8))
            out.append(UInt8(truncatingIfNeeded: size))
        }
        switch form {
        case .text(let text): out.append(contentsOf: text.utf8)
        case .number(let number): out.append(contentsOf: number.description.utf8)
        case .large(let number): out.append(contentsOf: number.description.utf8)
        case .bytes(let bytes): out.append(contentsOf: bytes)
        }
    }

    func encode(into out: inout [UInt8]) {
        switch form {
        case .text(let text): out.appendBulk(text.utf8)
        case .number(let number): out.appendBulk(number.description.utf8)
        case .large(let number): out.appendBulk(number.description.utf8)
        case .bytes(let bytes): out.appendBulk(bytes)
        }
    }
}
