import Testing

@testable import Store

/// The answers of servers about themselves, as one value.
@Suite struct RedisLoadTests {
    @Test func `each server of a cluster keeps its own scripts`() {
        var load = RedisLoad()
        load.add(
            "10.0.0.1:6379",
            [
                "used_memory": "50", "maxmemory": "100", "connected_slaves": "1", "aof_last_write_status": "ok",
                "cmdstat_evalsha": "calls=5,usec=2000000,usec_per_call=1.0", "cmdstat_eval": "calls=1,usec=500000",
            ])
        load.add(
            "10.0.0.2:6379",
            ["used_memory": "60", "maxmemory": "400", "connected_slaves": "1", "aof_last_write_status": "err"])
        #expect(
            load.scripts == [
                "10.0.0.1:6379": RedisLoad.Scripts(count: 6, seconds: 2.5), "10.0.0.2:6379": RedisLoad.Scripts(),
            ])
        #expect(load.usedMemory == 50 && load.memoryLimit == 100, "the fullest one")
        #expect(load.connectedReplicas == 2 && load.isDiskFailing)
    }

    @Test func `a single server has no address`() {
        var load = RedisLoad()
        load.add(nil, ["cmdstat_evalsha": "calls=2,usec=10"])
        #expect(load.scripts == ["primary": RedisLoad.Scripts(count: 2, seconds: 0.000_01)])
    }
}
