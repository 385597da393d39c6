/// Looks at the slots of a cluster once a second, at one node after the other, until the client is gone.
///
/// A primary that slept while a replica took its place does not know of it when it wakes, and takes writes that are
/// lost. A client that had nothing to send meanwhile would still go there. With the watch it knows the new owner.
enum TopologyWatch {
    private static let interval = Duration.seconds(1)

    static func start(_ topology: Topology) {
        Task.detached { [weak topology] in
            var turn = 0
            while true {
                try? await Task.sleep(for: interval)
                guard let topology else { return }
                await look(topology, turn)
                turn += 1
            }
        }
    }

    /// Adopts another node's map if the new owners agree with it.
    ///
    /// One node alone is not believed, because it may be the one that slept. If it claims slots itself, the turn of
    /// another node decides.
    private static func look(_ topology: Topology, _ turn: Int) async {
        let nodes = topology.healthyNodes
        guard let known = topology.known, !nodes.isEmpty else { return }
        var settings = topology.settings
        settings.metrics = .none
        let asked = nodes[turn % nodes.count]
        guard let seen = try? await topology.ask(asked, settings) else { return }
        let moved = known.moved(in: seen)
        let owners = Set(moved.compactMap { seen[$0] })
        guard !moved.isEmpty, !owners.contains(asked) else { return }
        for owner in owners {
            guard let own = try? await topology.ask(owner, settings),
                moved.allSatisfy({ seen[$0] != owner || own[$0] == owner })
            else { return }
        }
        topology.adopt(seen)
    }
}
