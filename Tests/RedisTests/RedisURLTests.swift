import Redis
import Testing

@Suite struct RedisURLTests {
    @Test(arguments: [
        ("redis://localhost", "redis://localhost:6379/0"),
        ("REDIS://localhost:7000/", "redis://localhost:7000/0"),
        ("redis://10.0.0.1:7000/15", "redis://10.0.0.1:7000/15"),
        ("redis://[::1]", "redis://[::1]:6379/0"),
        ("redis://[fe80::1%eth0]:7000/1", "redis://[fe80::1%eth0]:7000/1"),
        ("redis://:secret@host", "redis://:***@host:6379/0"),
        ("redis://user:secret@host:1/2", "redis://user:***@host:1/2"),
        ("redis://us%65r:s%40%3a%2F@host", "redis://user:***@host:6379/0"),
        ("redis://user:a:b@c@host", "redis://user:***@host:6379/0"),
        ("rediss://user:secret@host:1/2", "rediss://user:***@host:1/2"), ("REDISS://host", "rediss://host:6379/0"),
        ("rediss+sentinel://u:secret@a,b:1/lamp/3", "rediss+sentinel://u:***@a:26379,b:1/lamp/3"),
        ("redis+sentinel://a/lamp", "redis+sentinel://a:26379/lamp/0"),
        ("redis+sentinel://a,b:1,[::1]:2/my.main_1-b/3", "redis+sentinel://a:26379,b:1,[::1]:2/my.main_1-b/3"),
        ("redis+sentinel://u:secret@a,b/lamp/?sentinel_password=s%26", "redis+sentinel://u:***@a:26379,b:26379/lamp/0"),
        ("redis+cluster://a", "redis+cluster://a:6379"), ("redis+cluster://a/0", "redis+cluster://a:6379"),
        ("rediss+cluster://a:1,b", "rediss+cluster://a:1,b:6379"),
        ("redis+cluster://u:secret@a,b:1,[::1]:2/", "redis+cluster://u:***@a:6379,b:1,[::1]:2"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
        ("unix:///run/redis.sock?db=0", "unix:///run/redis.sock"),
        ("unix:///run/a%20b.sock?db=4", "unix:///run/a b.sock?db=4"),
        ("unix://user:secret@/run/redis.sock", "unix://user:***@/run/redis.sock"),
        ("unix://:secret@/run/redis.sock?db=1", "unix://:***@/run/redis.sock?db=1"),
    ])
    func `is read and shown without the password`(text: String, shown: String) throws {
        #expect(try RedisURL(text).description == shown)
        #expect(try RedisURL(text).usesTLS == shown.hasPrefix("rediss"))
    }

    /// Each error names the wrong part, but quotes nothing of it.
    @Test(arguments: [
        ("", "redis://"), ("localhost:6379", "redis://"), ("http://secret", "scheme"), ("://secret", "scheme"),
        ("rediss://secret!", "host"), ("rediss+unix:///secret", "scheme"), ("redisss://secret", "scheme"),
        ("rediss+://secret", "scheme"), ("unixs:///secret", "scheme"), ("rediss://h?db=1", "?"),
        ("redis+sentinel://secret:1", "behind the sentinels"),
        ("redis+sentinel://a,,secret/m", "host"), ("redis+sentinel://a:x/secret", "port"),
        ("redis+sentinel://a/se!cret", "behind the sentinels"), ("redis+sentinel:///secret", "host"),
        ("redis+sentinel://a/m/secret", "database"), ("redis+sentinel://a/m/0/1", "database"),
        ("redis+sentinel://a/m?password=secret", "sentinel_password"),
        ("redis+sentinel://a/m?sentinel_password=", "sentinel_password"),
        ("redis+sentinel://a/m?sentinel_password=secret%g", "sentinels' password"),
        ("redis+cluster://", "host"), ("redis+cluster://a,,secret", "host"), ("redis+cluster://a:x", "port"),
        ("redis+cluster://a/secret", "database"), ("redis+cluster://a/1", "only the database 0"),
        ("redis+cluster://a?secret=1", "? part"),
        ("redis://", "host"), ("redis:///1", "host"), ("redis://:7000", "host"), ("redis://ho st", "host"),
        ("redis://user:secret/word@host", "%2F"), ("redis://user:sec#ret@host", "%23"),
        ("redis://secret@host", "colon"), ("redis://user:@host", "password"),
        ("redis://user:secret%zz@host", "password"), ("redis://user:secret%f@host", "password"),
        ("redis://user:%ff@host", "password"), ("redis://us%er:x@host", "user"),
        ("redis://host:secret", "port"), ("redis://host:0", "port"), ("redis://host:65536", "port"),
        ("redis://host:-1", "port"), ("redis://host:+1", "port"), ("redis://host:", "port"),
        ("redis://host:99999999999999999999", "port"), ("redis://::1:6379", "bracket"), ("redis://[::1", "bracket"),
        ("redis://[secret!]", "IPv6"), ("redis://[::1]x", "port"),
        ("redis://host/secret", "database"), ("redis://host/-1", "database"), ("redis://host/1/2", "database"),
        ("redis://host/65536", "database"), ("redis://host/1?db=2", "?"),
        ("unix://", "path"), ("unix:///", "path"), ("unix://run/redis.sock", "path"),
        ("unix:///run/redis.sock?secret=1", "db=N"), ("unix:///run/redis.sock?db=x", "database"),
        ("unix:///" + String(repeating: "a", count: 107), "107"), ("unix:///a%00b", "zero"), ("unix:///a%g0", "path"),
    ])
    func `is refused with the name of the part`(text: String, part: String) throws {
        let error = #expect(throws: RedisURLError.self) { try RedisURL(text) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("secret") == false)
    }

    @Test func `arbitrary text never crashes`() {
        let alphabet = Array("redisunix:/@[],%?#=db019aé\0 ".unicodeScalars)
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var text =
                ["redis://", "unix://", "redis+sentinel://", "redis+cluster://", ""].randomElement(using: &generator)
                ?? ""
            for _ in 0..<Int.random(in: 0...24, using: &generator) {
                text.unicodeScalars.append(alphabet.randomElement(using: &generator) ?? "a")
            }
            _ = try? RedisURL(text)
        }
    }
}
