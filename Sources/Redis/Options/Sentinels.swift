/// Redis Sentinel: several processes that agree on which server is the primary. `PrimaryWatch` asks them.
/// Source: https://redis.io/docs/latest/develop/reference/sentinel-clients/
struct Sentinels: Sendable, Hashable, CustomStringConvertible {
    let addresses: [RedisAddress]
    /// The sentinels' name of the primary.
    let primary: String
    /// The sentinels' own password.
    let password: String?

    /// Reads the parts of a URL. `hosts` is `host[:port],…`, and `query` is `sentinel_password=…` or nil.
    init(hosts: Substring, primary: Substring, query: Substring?) throws(RedisURLError) {
        let addresses = try RedisURL.addresses(hosts, port: 26_379)
        let name = try RedisURL.decoded(primary, part: "primary's name")
        // Accept the same bytes as `sentinel monitor` does.
        guard !name.isEmpty, name.utf8.allSatisfy(\.isHostByte) else {
            throw RedisURLError(
                "behind the sentinels stands the name they know the primary by, and perhaps a database: "
                    + "redis+sentinel://host1,host2/mymaster/0")
        }
        self.addresses = addresses
        self.primary = name
        let parameter = "sentinel_password="
        guard let query else {
            password = nil
            return
        }
        guard query.hasPrefix(parameter), !query.contains("&"), query.count > parameter.count else {
            throw RedisURLError("redis+sentinel:// knows only ?sentinel_password=… after the path")
        }
        password = try RedisURL.decoded(query.dropFirst(parameter.count), part: "sentinels' password")
    }

    /// Without the password.
    var description: String { addresses.map(\.description).joined(separator: ",") + "/" + primary }
}
