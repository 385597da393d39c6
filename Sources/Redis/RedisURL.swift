/// Where Redis is and how to sign in.
///
///     redis://[user:password@]host[:port][/db]      redis://:password@host without a user name
///     unix://[user:password@]/path/to/socket[?db=N]
///
/// User, password and path may be percent-encoded; IPv6 hosts stand in brackets.
public struct RedisURL: Sendable, Hashable, CustomStringConvertible {
    enum Endpoint: Sendable, Hashable {
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    let endpoint: Endpoint
    /// Nil: the default user.
    let user: String?
    let password: String?
    public let database: Int

    public init(_ text: String) throws(RedisURLError) {
        guard let scheme = text.firstRange(of: "://") else {
            throw RedisURLError(description: "it must begin with redis:// or unix://")
        }
        var rest = text[scheme.upperBound...]
        switch text[..<scheme.lowerBound].lowercased() {
        case "redis", "unix": break
        case "rediss":
            throw RedisURLError(
                description: "rediss:// needs a hiredis with TLS, and the installed one (0.14) has none: "
                    + "use redis:// on a private network or through a TLS proxy, or unix://")
        case "redis+sentinel":
            throw RedisURLError(description: "redis+sentinel:// is not built yet: use redis:// or unix://")
        case "redis+cluster":
            throw RedisURLError(description: "redis+cluster:// is not built yet: use redis:// or unix://")
        default: throw RedisURLError(description: "its scheme is not known: use redis:// or unix://")
        }
        let isUnix = text[..<scheme.lowerBound].lowercased() == "unix"
        guard !rest.contains("#") else {
            throw RedisURLError(description: "it has a # part; write a # in a password as %23")
        }
        let query = rest.firstIndex(of: "?").map { rest[$0...].dropFirst() }
        rest = rest.prefix { $0 != "?" }
        let authority = rest.prefix { $0 != "/" }
        let path = rest[authority.endIndex...]

        guard isUnix || !path.contains("@") else {
            throw RedisURLError(
                description: "there is an @ after a /: in user and password write / as %2F and @ as %40")
        }

        let host: Substring
        if let at = authority.lastIndex(of: "@") {
            let userInfo = authority[..<at]
            guard let colon = userInfo.firstIndex(of: ":") else {
                throw RedisURLError(
                    description: "the part before @ has no colon: write user:password@, or :password@ without a user")
            }
            let name = try Self.decoded(userInfo[..<colon], part: "user")
            user = name.isEmpty ? nil : name
            password = try Self.decoded(userInfo[colon...].dropFirst(), part: "password")
            guard password != "" else { throw RedisURLError(description: "the password is empty") }
            host = authority[at...].dropFirst()
        } else {
            (user, password, host) = (nil, nil, authority)
        }
        if isUnix {
            guard host.isEmpty, path.count > 1 else {
                throw RedisURLError(description: "unix:// needs an absolute path: unix:///run/redis/redis.sock")
            }
            let socket = try Self.decoded(path, part: "path")
            // sockaddr_un holds 108 bytes with the final zero; hiredis would cut a longer path without a word.
            guard socket.utf8.count <= 107, !socket.utf8.contains(0) else {
                throw RedisURLError(description: "the socket's path may have at most 107 bytes and no zero byte")
            }
            endpoint = .unix(path: socket)
            database = try Self.database(query: query)
        } else {
            guard query == nil else { throw RedisURLError(description: "redis:// takes no ? part; the database is /N") }
            endpoint = try Self.tcp(host)
            let number = path.dropFirst()
            database = number.isEmpty ? 0 : try Self.number(number, in: Self.databases, part: "database")
        }
    }

    /// Without the password.
    public var description: String {
        let signIn = password == nil ? "" : "\(user ?? ""):***@"
        switch endpoint {
        case .tcp(let host, let port):
            let shown = host.contains(":") ? "[\(host)]" : host
            return "redis://\(signIn)\(shown):\(port)/\(database)"
        case .unix(let path):
            return "unix://\(signIn)\(path)" + (database == 0 ? "" : "?db=\(database)")
        }
    }

    /// Redis refuses a number beyond its own `databases` setting; this only bounds what is sent.
    private static let databases = 0...65_535

    private static func database(query: Substring?) throws(RedisURLError) -> Int {
        guard let query else { return 0 }
        guard query.hasPrefix("db=") else {
            throw RedisURLError(description: "unix:// knows only ?db=N after the path")
        }
        return try number(query.dropFirst(3), in: databases, part: "database")
    }

    private static func tcp(_ text: Substring) throws(RedisURLError) -> Endpoint {
        let host: Substring
        var rest: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else {
                throw RedisURLError(description: "the IPv6 address lacks its closing bracket")
            }
            host = text[text.index(after: text.startIndex)..<end]
            rest = text[end...].dropFirst()
            guard host.utf8.allSatisfy({ $0.isHostByte || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }) else {
                throw RedisURLError(description: "the host in brackets is not an IPv6 address")
            }
        } else {
            guard text.count(where: { $0 == ":" }) <= 1 else {
                throw RedisURLError(
                    description: "the host has several colons: an IPv6 address stands in brackets, [::1]")
            }
            host = text.prefix { $0 != ":" }
            rest = text[host.endIndex...]
            guard host.utf8.allSatisfy(\.isHostByte) else {
                throw RedisURLError(
                    description: "the host may hold only letters, digits, - _ and .")
            }
        }
        guard (1...255).contains(host.utf8.count) else {
            throw RedisURLError(description: "the host is missing or too long")
        }
        guard !rest.isEmpty else { return .tcp(host: String(host), port: 6379) }
        guard rest.removeFirst() == ":" else {
            throw RedisURLError(description: "after the bracket only :port may follow")
        }
        return .tcp(host: String(host), port: try number(rest, in: 1...65_535, part: "port"))
    }

    private static func number(
        _ text: Substring, in range: ClosedRange<Int>, part: String
    ) throws(RedisURLError) -> Int {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text), range.contains(number)
        else {
            throw RedisURLError(
                description: "the \(part) must be a number of \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func decoded(_ text: Substring, part: String) throws(RedisURLError) -> String {
        let broken = RedisURLError(
            description:
                "the \(part) has a % that is not followed by two hex digits (write % itself as %25), or is not UTF-8")
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
                throw broken
            }
            bytes.append(high << 4 | low)
        }
        guard let result = String(validating: bytes, as: UTF8.self) else { throw broken }
        return result
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x37
        case 0x61...0x66: digit - 0x57
        default: nil
        }
    }
}

/// What is wrong with a Redis URL: names the part and never quotes it, since a slip can put a password anywhere.
public struct RedisURLError: Error, Hashable, CustomStringConvertible {
    public let description: String
    public init(description: String) { self.description = description }
}

extension UInt8 {
    fileprivate var isHostByte: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
    }
}
