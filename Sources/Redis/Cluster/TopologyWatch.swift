/// Looks at the slots of a cluster once a second, at one node after the other, until the client is gone.
///
/// A primary that slept while a replica took its place does not know of it when it wakes, and takes writes that are
/// lost. A client that had nothing to send meanwhile would still go there. With the watch it knows the new owner.
enum TopologyWatch {
    private static let interval = Duration.seconds(1)

    static func start(_ topology: Topology) {
        Task.detached { [weak topology] in
            var turn = 0
            // Connections stay open from one look to the next.
            var open: [RedisAddress: RedisNode] = [:]
            while true {
                try? await Task.sleep(for: interval)
                guard let topology else { return }
                await look(topology, turn, &open)
                turn += 1
            }
        }
    }

    /// Adopts another node's map if the new owners agree with it.
    ///
    /// One node alone is not believed, because this node may have slept. If it claims slots itself, the turn of another
    /// node decides.
    private static func look(_ topology: Topology, _ turn: Int, _ open: inout [RedisAddress: RedisNode]) async {
        let nodes = topology.healthyNodes
        guard let known = topology.known, !nodes.isEmpty else { return }
        open = open.filter { nodes.contains($0.key) }
        var settings = topology.settings
        settings.metrics = .none
        func node(at address: RedisAddress) -> RedisNode {
            let node = open[address] ?? RedisNode(settings.at(address), connections: 1)
            open[address] = node
            return node
        }
        let asked = nodes[turn % nodes.count]
        guard let seen = try? await topology.ask(node(at: asked), at: asked) else { return }
        let moved = known.moved(in: seen)
        let owners = Set(moved.compactMap { seen[$0] })
        guard !moved.isEmpty, !owners.contains(asked) else { return }
        for owner in owners {
            guard let own = try? await topology.ask(node(at: owner), at: owner),
                moved.allSatisfy({ seen[$0] != owner || own[$0] == owner })
            else { return }
        }
        topology.adopt(seen)
    }
}
