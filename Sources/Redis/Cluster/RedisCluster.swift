internal import Synchronization

/// The nodes of a cluster that one client uses. Each command goes to the node that owns its slot, and then to the node
/// that a redirection names.
final class RedisCluster: RedisDeployment {
    /// Commands that go to one node in one round trip.
    private struct Group: Sendable {
        var node: RedisAddress
        var isAsking = false
        /// Their indices among all commands.
        var indices: [Int]
    }
    private struct Nodes {
        var byAddress: [RedisAddress: RedisNode] = [:]
        var isClosed = false
    }

    private let topology: Topology
    private let settings: ConnectionSettings
    private let connections: Int
    private let nodes = Mutex(Nodes())

    /// Makes a client. It shares the topology with other clients of the process, but has its own connections.
    init(_ topology: Topology, _ settings: ConnectionSettings, connections: Int) {
        (self.topology, self.settings, self.connections) = (topology, settings, connections)
    }

    /// Sends each node's commands in one round trip, to all nodes at the same time.
    /// - Throws: one error for all commands. It is `lost` if any of them may have been executed.
    func pipeline(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        let outcomes = try await outcomes(commands)
        return try outcomes.map { outcome throws(RedisError) in
            switch outcome {
            case .success(let answer): return answer.reply
            case .failure(let error): throw Self.failure(of: outcomes, error)
            }
        }
    }

    func pipeline(_ commands: [RedisCommand], inStepsAt boundaries: [Int]) async throws(RedisError) -> [RedisReply] {
        if boundaries.isEmpty { return try await pipeline(commands) }
        var replies: [RedisReply] = []
        for end in boundaries + [commands.count] where end > replies.count {
            do throws(RedisError) { replies += try await pipeline(Array(commands[replies.count..<end])) } catch {
                if replies.isEmpty { throw error }
                throw .lost("a step of several: \(error.why)")
            }
            if let refusal = replies.first(where: { $0.error != nil }) {
                return replies + Array(repeating: refusal, count: commands.count - replies.count)
            }
        }
        return replies
    }

    func pipeline(_ commands: [RedisCommand], eachNodeThen last: RedisCommand) async throws(RedisError) -> [Outcome] {
        try await outcomes(commands, last: last)
    }

    func pipeline(eachOf commands: [RedisCommand]) async throws(RedisError) -> [Result<RedisReply, RedisError>] {
        try await outcomes(commands, skipsAway: true).map { $0.map(\.reply) }
    }

    func isAway(_ key: RedisKey) -> Bool {
        guard let owner = topology.known?[HashSlot(key: key.description)] else { return false }
        return isAway(owner)
    }

    private func isAway(_ address: RedisAddress) -> Bool { nodes.withLock { $0.byAddress[address] }?.isAway ?? false }

    private static func failure(of outcomes: [Outcome], _ first: RedisError) -> RedisError {
        let mayBeExecuted = outcomes.contains { outcome in
            switch outcome {
            case .success, .failure(.lost), .failure(.unexpectedReply): true
            case .failure: false
            }
        }
        if case .unexpectedReply = first { return first }
        return mayBeExecuted ? .lost("a part of a pipeline over several nodes: \(first.why)") : first
    }

    /// Sends the commands and follows redirections.
    /// - Parameters:
    ///   - last: a command that is sent after each node's commands, on the same connection.
    ///   - skipsAway: whether commands of a node that is known to be away fail at once.
    private func outcomes(
        _ commands: [RedisCommand], last: RedisCommand? = nil, skipsAway: Bool = false
    ) async throws(RedisError) -> [Outcome] {
        if commands.isEmpty { return [] }
        let slots = try commands.map { command throws(RedisError) in try command.slot() }
        let map = try await topology.map()
        var outcomes = [Outcome?](repeating: nil, count: commands.count)
        var groups = Self.groups(slots, map, &outcomes)
        if skipsAway {
            for group in groups where isAway(group.node) {
                // A replica may have taken its place.
                topology.suspect(group.node)
                for index in group.indices { outcomes[index] = .failure(.unreachable("\(group.node) is away")) }
            }
            groups.removeAll { outcomes[$0.indices[0]] != nil }
        }
        var round = 0
        while !groups.isEmpty {
            let results = await exchange(groups, commands, last)
            var next: [Group] = []
            for (group, result) in zip(groups, results) {
                switch result {
                case .success(let replies):
                    for (index, reply) in zip(group.indices, replies) {
                        let redirection = topology.judge(reply.error, at: group.node)
                        if let redirection, round < Topology.mostRedirections {
                            Self.add(index, redirection.address, isAsking: redirection.isAsking, to: &next)
                        } else if redirection != nil {
                            outcomes[index] = .success((RedisReply(error: Topology.astray(slots[index])), .null))
                        } else if let unusable = Redirection.unusable(reply.error, from: group.node) {
                            outcomes[index] = .failure(unusable)
                        } else {
                            outcomes[index] = .success((reply, last == nil ? .null : replies.last ?? .null))
                        }
                    }
                case .failure(let error):
                    let moved = round < Topology.mostRedirections ? await owners(insteadOf: group, slots, error) : nil
                    for index in group.indices {
                        if let address = moved?[slots[index]] {
                            Self.add(index, address, isAsking: false, to: &next)
                        } else {
                            outcomes[index] = .failure(error)
                        }
                    }
                }
            }
            groups = next
            round += 1
        }
        return outcomes.map { $0 ?? .failure(.unexpectedReply("a command without an outcome")) }
    }

    /// Runs a transaction at the node that owns all of its keys.
    func transaction(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        guard let slot = try commands.commonSlot() else { return [] }
        return try await topology.follow(slot) { (address, isAsking) throws(RedisError) in
            try await node(at: address).transaction(commands, asking: isAsking)
        }
    }

    func onEachPrimary(_ commands: [RedisCommand]) async throws(RedisError) -> [NodeReplies] {
        var answers: [NodeReplies] = []
        for address in try await topology.map().primaries {
            answers.append((address.description, try await node(at: address).pipeline(commands)))
        }
        return answers
    }

    var tlsMinorVersion: Int? { nodes.withLock { $0.byAddress.values.lazy.compactMap(\.tlsMinorVersion).first } }

    func end() async {
        let all = nodes.withLock { nodes in
            nodes.isClosed = true
            defer { nodes.byAddress = [:] }
            return Array(nodes.byAddress.values)
        }
        for node in all { node.close() }
        for node in all { await node.end() }
    }
}

extension RedisCluster {
    private func owners(
        insteadOf group: Group, _ slots: [HashSlot], _ error: RedisError
    ) async -> [HashSlot: RedisAddress]? {
        guard let first = group.indices.first else { return nil }
        // This asks the cluster once for the whole group.
        _ = await topology.owner(of: slots[first], insteadOf: group.node, error)
        guard case .unreachable = error, let map = topology.known else { return nil }
        var owners: [HashSlot: RedisAddress] = [:]
        for index in group.indices {
            if let owner = map[slots[index]], owner != group.node { owners[slots[index]] = owner }
        }
        return owners
    }

    private static func groups(_ slots: [HashSlot], _ map: SlotMap, _ outcomes: inout [Outcome?]) -> [Group] {
        var groups: [Group] = []
        var placeOfOwner = [Int?](repeating: nil, count: map.primaries.count)
        for (index, slot) in slots.enumerated() {
            guard let owner = map.owner(of: slot) else {
                outcomes[index] = .success((RedisReply(error: Topology.unserved(slot)), .null))
                continue
            }
            if let place = placeOfOwner[owner] {
                groups[place].indices.append(index)
            } else {
                placeOfOwner[owner] = groups.count
                groups.append(Group(node: map.primaries[owner], indices: [index]))
            }
        }
        return groups
    }

    private static func add(_ index: Int, _ node: RedisAddress, isAsking: Bool, to groups: inout [Group]) {
        if let place = groups.firstIndex(where: { $0.node == node && $0.isAsking == isAsking }) {
            groups[place].indices.append(index)
        } else {
            groups.append(Group(node: node, isAsking: isAsking, indices: [index]))
        }
    }

    /// Does one round trip with each group's node, all at the same time. A single group needs no tasks.
    private func exchange(
        _ groups: [Group], _ commands: [RedisCommand], _ last: RedisCommand?
    ) async -> [Result<[RedisReply], RedisError>] {
        if groups.count == 1 { return [await exchange(groups[0], commands, last)] }
        return await withTaskGroup { tasks in
            for (place, group) in groups.enumerated() {
                tasks.addTask { (place, await self.exchange(group, commands, last)) }
            }
            var results = [Result<[RedisReply], RedisError>](repeating: .success([]), count: groups.count)
            for await (place, result) in tasks { results[place] = result }
            return results
        }
    }

    private func exchange(
        _ group: Group, _ commands: [RedisCommand], _ last: RedisCommand?
    ) async -> Result<[RedisReply], RedisError> {
        var batch = group.indices.count == commands.count ? commands : group.indices.map { commands[$0] }
        if let last { batch.append(last) }
        do throws(RedisError) {
            let node = try node(at: group.node)
            return .success(group.isAsking ? try await node.pipelineAsking(batch) : try await node.pipeline(batch))
        } catch { return .failure(error) }
    }

    /// The connections to a node, made at first use. Drops nodes without slots: they close after their last reply.
    private func node(at address: RedisAddress) throws(RedisError) -> RedisNode {
        try nodes.withLock { nodes throws(RedisError) in
            if nodes.isClosed { throw RedisError.closed }
            if let node = nodes.byAddress[address] { return node }
            if let map = topology.known {
                nodes.byAddress = nodes.byAddress.filter { map.primaries.contains($0.key) }
            }
            let node = RedisNode(settings.at(address), connections: connections)
            nodes.byAddress[address] = node
            return node
        }
    }
}
