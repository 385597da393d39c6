import Foundation
import TestSupport
import Testing

/// The drill of docs/features/backup.md: Redis's disk is gone, its successor is empty, and the backup is restored.
@Suite("RestoreDrill")
struct RestoreDrillTests {
    /// A key file, made as the documentation says.
    private func keyFile(_ deployment: Deployment) throws -> String {
        let path = deployment.directory + "/backup.key"
        let key = String(repeating: "5e", count: 32) + "\n"
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(key.utf8), attributes: [.posixPermissions: 0o600])
        else { throw NeverHappened(description: "a key file") }
        return path
    }

    @Test(arguments: [false, true])
    func `Redis loses everything, and the next push after a restore is complete`(isIntoCluster: Bool) async throws {
        let deployment = try await Deployment.start()
        #expect(try await deployment.importChannels(3_000, name: "match-42").code == 0)
        #expect(
            try await deployment.run("track", "order-1", Deployment.channel(9_000_001), Deployment.token(9_000_001))
                .code == 0)
        let key = try keyFile(deployment)
        let file = deployment.directory + "/shop.backup"
        let backup = try await deployment.run("backup", file, "--key-file", key, "--json")
        #expect(backup.code == 0 && backup.out.contains(#""encrypted":true"#), "\(backup.out) \(backup.err)")
        #expect((try FileManager.default.attributesOfItem(atPath: file))[.posixPermissions] as? Int == 0o600)
        #expect(!FileManager.default.fileExists(atPath: file + ".part"))
        deployment.redis.signal(SIGKILL)

        // The new Redis knows nothing. A gateway and a worker of it start before the restore.
        let successor = isIntoCluster ? nil : try await RedisServer.start()
        let cluster = isIntoCluster ? try await ClusterServers.start() : nil
        let environment = ["LAMPLIGHTER_REDIS_URL": "\(successor?.url ?? cluster?.url ?? deployment.redis.url)"]
        let gateway = try Program(
            [Program.path, "serve", "--port", "0"], directory: deployment.directory,
            environment: deployment.environment.merging(environment) { _, own in own })
        try await gateway.waitForLog("url=http")
        let url = gateway.err.firstMatch(of: /url=(http\S+)/).map { String($0.1) } ?? ""
        let there = environment.merging(["LAMPLIGHTER_GATEWAY_URL": url]) { _, own in own }
        let worker = try await deployment.worker("successor", environment)

        let checked = try await deployment.run("restore", file, "--key-file", key, "--check", environment: there)
        #expect(checked.code == 0 && checked.out.contains("all right"), "\(checked.err)")
        for repetition in 0..<2 {
            let restored = try await deployment.run(
                ["restore", file, "--key-file", key, "--json"], environment: there)
            #expect(restored.code == 0, "\(restored.err)")
            #expect(restored.out.contains(#""tokens_restored":\#(repetition == 0 ? 3_001 : 0)"#), "\(restored.out)")
        }
        let log = try await deployment.run(["actions", "--action", "restore", "--json"], environment: there)
        #expect(log.out.ranges(of: #""credential":"cli""#).count == 2, "\(log.out) \(log.err)")
        for (name, count) in [("match-42", 3_000), ("order-1", 1)] {
            let output = try await deployment.run(
                ["publish", name, "--content-state", "{}", "--wait", "--json"], environment: there)
            let ledger = try Ledger(output.out)
            #expect(output.code == 0 && ledger.state == "done" && ledger.addsUp, "\(output.out) \(output.err)")
            #expect(ledger["delivered"] == count)
        }
        worker.signal(SIGTERM)
        #expect(await worker.end()?.code == 0)
        gateway.kill()
        successor?.stop()
        cluster?.stop()
    }

    @Test func `a wrong key, a cut file and an unknown app say so, and how far it got`() async throws {
        let deployment = try await Deployment.start()
        // Several chunks.
        #expect(try await deployment.importChannels(20_000, name: "match-42").code == 0)
        let key = try keyFile(deployment)
        let file = deployment.directory + "/shop.backup"
        #expect(try await deployment.run("backup", file, "--key-file", key).code == 0)
        let none = try await deployment.run("restore", file)
        #expect(none.code == 78 && none.err.contains("give its key with --key-file"), "\(none.err)")
        let wrong = deployment.directory + "/wrong.key"
        try String(repeating: "00", count: 32).write(toFile: wrong, atomically: false, encoding: .utf8)
        let refused = try await deployment.run("restore", file, "--key-file", wrong)
        #expect(refused.code == 78 && refused.err.contains("encrypted with another key"), "\(refused.err)")
        let bad = try await deployment.run("restore", file, "--key-file", file)
        #expect(bad.code == 78 && bad.err.contains("openssl rand -hex 32"), "\(bad.err)")
        let app = try await deployment.run("restore", file, "--key-file", key, "--app", "news")
        #expect(app.code == 1 && app.err.contains("no app 'news'; it has shop"), "\(app.err)")

        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        let cut = deployment.directory + "/cut.backup"
        try bytes.prefix(bytes.count * 2 / 3).write(to: URL(fileURLWithPath: cut))
        let half = try await deployment.run("restore", cut, "--key-file", key)
        #expect(half.code == 1 && half.err.contains("the file was cut off"), "\(half.err)")
        #expect(half.err.contains(/the first [1-9]\d* entries are restored; restore a whole copy/), "\(half.err)")
        let directory = try await deployment.run("restore", deployment.directory)
        #expect(directory.code == 1, "\(directory.err)")
        #expect(directory.err.hasSuffix("\(deployment.directory): cannot read: Is a directory\n"), "\(directory.err)")
        let stranger = try await deployment.run(
            "restore", file, "--key-file", key, environment: ["LAMPLIGHTER_APP_KEY": "news"])
        #expect(stranger.code == 78, "\(stranger.err)")
        #expect(stranger.err.contains("has app 'shop', and the configuration does not: it has news"), "\(stranger.err)")
        let other = try await deployment.run("restore", deployment.directory + "/wrong.key")
        #expect(other.code == 1 && other.err.contains("this is not a backup"), "\(other.err)")
    }
}
