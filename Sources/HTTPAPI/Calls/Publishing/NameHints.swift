import LiveActivity
import Store
import StrictJSON

/// Hints for the publisher of a name that has no followers, because the name may be misspelt.
struct NameHints {
    /// The most names of one request that get a hint.
    private static let mostHints = 3
    /// The most names that a hint suggests, and the most similar names whose followers are checked.
    private static let mostNames = 3
    private static let mostNear = 12

    private let index: Names
    private let nearNames: NearNames

    init(_ parts: GatewayParts) { (index, nearNames) = (parts.store.names, parts.nearNames) }

    /// Pushes to names without followers or a start in the same body, by position. Empty if Redis does not answer.
    func unfollowed(_ pushes: [PublishBody.Push], _ call: Call) async -> [(position: Int?, name: ActivityName)] {
        let starting = pushes.filter { $0.publish.event == .start }.map(\.publish.name)
        var names: [ActivityName] = []
        for name in pushes.map(\.publish.name) where !starting.contains(name) && !names.contains(name) {
            names.append(name)
        }
        return await unfollowed(names, call).prefix(Self.mostHints).map { name in
            (pushes.count > 1 ? pushes.firstIndex { $0.publish.name == name } : nil, name)
        }
    }

    private func unfollowed(_ names: [ActivityName], _ call: Call) async -> [ActivityName] {
        guard !names.isEmpty else { return [] }
        return (try? await index.unfollowed(call.app.key, names)) ?? []
    }

    /// The hint for one name that somebody typed. None if the name has followers.
    func hints(_ name: ActivityName, _ call: Call) async -> [String] {
        await hints(unfollowed([name], call).map { (nil, $0) }, call)
    }

    func hints(_ unfollowed: [(position: Int?, name: ActivityName)], _ call: Call) async -> [String] {
        var hints: [String] = []
        for (position, name) in unfollowed {
            var hint = position.map { "[\($0)]: " } ?? ""
            hint += "\(JSON.string(name.rawValue).text) has no followers"
            hints.append(hint + (await similar(to: name, call) ?? "; no similar name has any"))
        }
        return hints
    }

    /// The end of a sentence about a name that may be misspelt. Nil: no similar name has followers. Empty: nothing can
    /// be said of them.
    func similar(to name: ActivityName, _ call: Call) async -> String? {
        guard let near = await shown(near: name, call) else { return "" }
        let quoted = near.map { JSON.string($0).text }.joined(separator: ", ")
        return near.isEmpty ? nil : "; similar names with followers: \(quoted)"
    }

    /// Similar names that the caller may know of. Nil: nothing can be said of them.
    private func shown(near name: ActivityName, _ call: Call) async -> [String]? {
        guard call.mayRead else { return nil }
        let near = await nearNames.near(name, call.app.key, now: call.now) { await namesLike(name, call.app.key) }
        // Searches are shared by the app's callers, so leave out names of others here.
        guard let near, case .issued(let grant) = call.credential, grant.namePrefix != nil else { return near }
        let own = near.filter { (try? ActivityName($0)).map(grant.covers) ?? false }
        return own.isEmpty ? nil : own
    }

    /// Names that look like this one. Nil if Redis does not answer.
    private func namesLike(_ name: ActivityName, _ app: AppKey) async -> [String]? {
        guard let candidates = try? await index.candidates(app, near: name) else { return nil }
        let near = candidates.map(\.rawValue).nearest(to: name.rawValue, atMost: Self.mostNear)
            .compactMap { try? ActivityName($0) }
        guard let unfollowed = try? await index.unfollowed(app, near) else { return nil }
        return near.filter { !unfollowed.contains($0) }.prefix(Self.mostNames).map(\.rawValue)
    }
}
