import Testing

@testable import Commands

@Suite("What is said of a Redis")
struct RedisFindingsTests {
    static let safe = [
        "appendonly": "yes", "appendfsync": "always", "maxmemory": "0", "maxmemory-policy": "noeviction",
        "hash-max-listpack-value": "1024", "hash-max-listpack-entries": "512",
    ]

    private func findings(_ change: [String: String] = [:], info: [String: String] = [:]) -> RedisFindings {
        RedisFindings(
            info: ["redis_version": "7.0.15"].merging(info) { _, own in own },
            configuration: Self.safe.merging(change) { _, own in own })
    }

    @Test func `config/redis.conf leaves nothing to say`() {
        #expect(findings().all.allSatisfy { $0.mark == .good && $0.remedy == nil })
        #expect(findings().losses.isEmpty)
    }

    @Test(arguments: [
        ["appendonly": "no"], ["appendfsync": "everysec"], ["appendfsync": "no"],
        ["maxmemory-policy": "allkeys-lru"],
    ])
    func `each way to lose data is a warning with a remedy`(change: [String: String]) {
        let losses = findings(change).losses
        #expect(losses.count == 1)
        #expect(losses.first?.mark == .warning && losses.first?.remedy?.contains("CONFIG SET") == true)
    }

    @Test func `a primary that takes writes without its replicas is a warning where replicas may replace it`() {
        let (alone, waits) = (["min-replicas-to-write": "0"], ["min-replicas-to-write": "1"])
        #expect(findings(alone, info: ["connected_slaves": "0"]).losses.isEmpty)
        var watched = findings(alone)
        watched.usesSentinels = true
        for found in [watched, findings(alone, info: ["connected_slaves": "1"])] {
            #expect(found.losses.map(\.subject) == ["Redis replicas"])
            #expect(found.losses.first?.text.contains("registrations") == true)
        }
        watched = findings(waits)
        watched.usesSentinels = true
        #expect(watched.losses.isEmpty && watched.replicas?.mark == .good)
        #expect(findings(alone, info: ["connected_slaves": "1", "cluster_enabled": "1"]).replicas == nil)
    }

    @Test func `a number of replicas that leaves out the one of another site is a warning`() {
        let found = findings(info: [
            "connected_slaves": "2", "slave0": "ip=10.0.0.2,port=6379,state=online,offset=14,lag=0",
            "slave1": "ip=fd00::3,port=6380,state=online,offset=14,lag=1", "slave_priority": "100",
        ])
        #expect(found.replicaAddresses.map(\.host) == ["10.0.0.2", "fd00::3"])
        #expect(found.replicaAddresses.map(\.port) == [6_379, 6_380])
        #expect(found.secondSite(1, priorities: [100, 0])?.remedy?.contains("redis.wait_replicas: 2") == true)
        // One did not answer, and counts all the same.
        #expect(found.secondSite(1, priorities: [0])?.mark == .warning)
        #expect(found.secondSite(2, priorities: [100, 0])?.mark == .good)
        #expect(found.secondSite(1, priorities: [100, 100]) == nil)
        #expect(found.secondSite(0, priorities: [100, 0]) == nil)
    }

    @Test func `small listpacks cost memory but lose nothing`() {
        let found = findings(["hash-max-listpack-value": "64"])
        #expect(found.losses.isEmpty && found.encoding?.mark == .warning)
        // That of earlier versions of config/redis.conf.
        let older = findings(["hash-max-listpack-value": "128"])
        #expect(older.losses.isEmpty && older.encoding?.mark == .warning)
        #expect(older.encoding?.text.contains("over 128 bytes") == true)
    }

    @Test(arguments: [
        (["redis_version": "6.0.16"], Commands.ExitStatus.configuration), (["role": "slave"], .configuration),
        (["aof_last_write_status": "err"], .failed),
    ])
    func `versions before 6.2, replicas and failing disks are wrong`(
        info: [String: String], status: Commands.ExitStatus
    ) {
        let bad = findings(info: info).all.filter { $0.mark == .bad }
        #expect(bad.map(\.status) == [status] && bad.first?.remedy != nil)
    }

    @Test func `of several servers what they say alike is said once, else with the server's name`() {
        var servers = [findings(), findings(["appendfsync": "everysec"]), findings()]
        for (index, name) in ["a:1", "b:2", "c:3"].enumerated() { servers[index].node = name }
        let all = servers.merged(\.all)
        #expect(all.count { $0.subject == "Redis version" } == 1)
        #expect(all.count { $0.mark == .warning } == 1)
        #expect(servers.merged(\.losses).first?.text.hasPrefix("b:2: appendfsync everysec") == true)
        #expect(servers.merged(\.losses).count == 1)
        var alone = findings(info: ["cluster_enabled": "1", "connected_slaves": "0"])
        #expect([alone].merged(\.all).first { $0.mark == .warning }?.remedy?.contains("redis+cluster://") == true)
        alone.node = "a:1"
        #expect([alone].merged(\.all).first { $0.mark == .warning }?.subject == "Redis replicas")
    }

    @Test func `a service that hides its configuration is not called safe`() {
        let found = RedisFindings(info: ["redis_version": "7.2.0"], configuration: [:])
        #expect(found.losses.map(\.subject) == ["Redis durability", "Redis memory"])
        for policy in [[:], ["maxmemory_policy": ""]] as [[String: String]] {
            let memory = RedisFindings(info: policy, configuration: [:]).memory
            #expect(memory?.text.contains("does not tell its policy") == true)
        }
        #expect(RedisFindings(info: [:], configuration: [:]).version.mark == .warning)
    }

    @Test func `limits of a hosted service are named, also if it shows no configuration`() {
        let found = RedisFindings(
            info: [
                "redis_version": "7.2.0", "aof_enabled": "0", "maxmemory_policy": "volatile-lru",
                "maxmemory": "\(100 << 20)", "used_memory": "\(95 << 20)", "maxclients": "100",
                "connected_clients": "90",
            ], configuration: [:])
        let texts = found.losses.map(\.text)
        #expect(texts.count == 4 && found.losses.allSatisfy { $0.remedy?.contains("CONFIG SET") != true })
        for word in ["no append-only file", "volatile-lru", "95 of 100 MB", "90 of 100 connections"] {
            #expect(texts.contains { $0.contains(word) }, "\(word)")
        }
        let full = findings(info: ["maxmemory": "\(100 << 20)", "used_memory": "\(100 << 20)"]).limits
        #expect(full.map(\.mark) == [.bad] && full[0].text.contains("(100 %)"))
        #expect(findings(["timeout": "0"]).limits.isEmpty && findings(["timeout": "300"]).limits.isEmpty)
        #expect(findings(["timeout": "5"]).limits.map(\.mark) == [.warning])
    }
}
