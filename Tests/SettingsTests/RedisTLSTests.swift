import Redis
import Settings
import Testing

@Suite("Redis through TLS")
struct RedisTLSTests {
    static let files = ["redis.ca_file": "ca.pem", "redis.cert_file": "own.pem", "redis.key_file": "own.key"]

    @Test func `files are those of the flags, the environment, or the file, whose own place they are relative to`()
        throws
    {
        let file = "redis:\n  url: rediss://h\n  ca_file: ca.pem\n  cert_file: /etc/own.pem\n  key_file: own.key\n"
        let tls = try load(
            flags: ["redis.key_file": "flag.key"], environment: ["LAMPLIGHTER_REDIS_CERT_FILE": "env.pem"], file: file
        ).redisTLS
        #expect(tls.roots == "config/ca.pem" && tls.certificate == "env.pem" && tls.key == "flag.key")
        let none = try load(file: "redis:\n  url: rediss://h\n").redisTLS
        #expect(none.roots == nil && none.certificate == nil && none.key == nil)
    }

    @Test func `with sentinels too`() throws {
        let environment = [
            "LAMPLIGHTER_REDIS_URL": "rediss+sentinel://a,b/lamp", "LAMPLIGHTER_REDIS_CA_FILE": "ca.pem",
        ]
        #expect(try load(environment: environment).redisTLS.roots == "ca.pem")
    }

    @Test func `a certificate without its key, and a key without its certificate`() {
        let url = ["redis.url": "rediss://h"]
        #expect(
            refusal(flags: url.merging(["redis.cert_file": "a"]) { $1 }).contains(
                "redis.key_file is not set: PEM private key of redis.cert_file"))
        #expect(refusal(flags: url.merging(["redis.key_file": "a"]) { $1 }).contains("redis.cert_file is not set"))
        #expect(
            refusal(file: "gateway: {cert_file: a}").contains("gateway.key_file is not set: gateway.cert_file needs it")
        )
        #expect(
            refusal(file: "gateway: {key_file: a}").contains("gateway.cert_file is not set: set it to the certificate"))
    }

    @Test(arguments: ["redis://h", "unix:///s"])
    func `files for a connection that would not be encrypted are refused`(url: String) {
        for (key, path) in Self.files {
            let text = refusal(flags: ["redis.url": url, key: path])
            #expect(text.contains("\(key) (--") && text.contains("must begin with rediss"), "\(text)")
        }
    }

    @Test func `a misspelt one`() {
        #expect(refusal(file: "redis:\n  ca_fle: x\n").contains("did you mean 'redis.ca_file'?"))
    }
}
