// See the head of `ActivityKitSource.swift`: type-checked against a stand-in, not run.
#if canImport(ActivityKit) && !os(macOS)
    public import ActivityKit
    import Dispatch
    public import Foundation
    import Network
    import Security

    extension Lamplighter {
        /// Makes the kit. Call it at launch, in `application(_:didFinishLaunchingWithOptions:)`: iOS wakes the app for
        /// new tokens.
        ///
        /// - Parameters:
        ///   - url: the gateway's address.
        ///   - group: an app group, if extensions of the app make a kit too. It is their keychain group as well.
        ///   - onProblem: is told what a developer should know.
        ///   - access: asks the app's backend for a token or a signature for a channel.
        public convenience init(
            url: URL, appKey: String, group: String? = nil,
            onProblem: @escaping @Sendable (LamplighterProblem) -> Void = LamplighterProblem.log,
            access: @escaping @Sendable (_ channel: String) async throws -> ChannelAccess
        ) {
            let files = FileManager.default
            let shared = group.flatMap { files.containerURL(forSecurityApplicationGroupIdentifier: $0) }
            if group != nil, shared == nil {
                onProblem(LamplighterProblem(kind: .storage, description: "the app is not in the group \(group ?? "")"))
            }
            let home = shared ?? files.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
            var directory = home.appendingPathComponent("LamplighterKit", isDirectory: true)
            // A restored backup is another install, with other tokens. `OutboxState.install` guards against one that is
            // older.
            try? files.createDirectory(at: directory, withIntermediateDirectories: true)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try? directory.setResourceValues(values)
            self.init(
                Gateway(
                    url: url, appKey: appKey, clock: .device,
                    attestation: (DeviceAppAttest(), directory.appendingPathComponent("attested-key")), access: access),
                directory: directory, store: KeychainInstallStore(group: group, appKey: appKey), tell: onProblem,
                hold: Self.holdInBackground)
            let system = ProcessInfo.processInfo.operatingSystemVersion
            Task { [outbox] in await outbox.device("\(system.majorVersion).\(system.minorVersion)") }
            retryWhenOnline()
        }

        /// Follows the Live Activities of a type: those that exist, begin, get another token, end or are dismissed. It
        /// also reports the type's push-to-start token, and receipts if the content state is a `LamplighterContent`.
        ///
        /// - Parameters:
        ///   - type: the name that publishers use in `attributes_type`, if it is not that of the Swift type.
        ///   - name: the activity's name at the gateway.
        public func follow<Attributes: ActivityAttributes & SendableMetatype>(
            _: Attributes.Type, type: String = "\(Attributes.self)", name: @escaping @Sendable (Attributes) -> String
        ) {
            let source = ActivityKitSource<Attributes>(attributesType: type, name: name)
            Task { [registrar] in await registrar.follow(source) }
        }

        private func retryWhenOnline() {
            let monitor = NWPathMonitor()
            // It holds itself: a monitor that nobody holds stops.
            monitor.pathUpdateHandler = { [outbox, monitor] path in
                guard path.status == .satisfied else { return }
                Task { await outbox.retryNow() }
                _ = monitor
            }
            monitor.start(queue: DispatchQueue(label: "LamplighterKit"))
        }

        /// Lets the app run on while something is being sent, for as long as iOS allows, in extensions too.
        @Sendable private static func holdInBackground() -> @Sendable () -> Void {
            let over = DispatchSemaphore(value: 0)
            ProcessInfo.processInfo.performExpiringActivity(withReason: "LamplighterKit sends") { isExpired in
                // iOS calls it again when the time is over, while the first call waits.
                if isExpired { over.signal() } else { over.wait() }
            }
            return { over.signal() }
        }
    }

    /// Keeps the install's id in the keychain of this device alone. A backup that is restored on another device has
    /// none.
    private struct KeychainInstallStore: InstallStore {
        struct Failure: Error, CustomStringConvertible {
            var status: OSStatus
            var description: String { "the keychain answered \(status)" }
        }

        let group: String?
        let appKey: String

        private var item: [String: Any] {
            var item: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: "LamplighterKit", kSecAttrAccount as String: appKey,
            ]
            if let group { item[kSecAttrAccessGroup as String] = group }
            return item
        }

        func idOrStore(_ id: String) throws -> String {
            if let known = try stored() { return known }
            var new = item
            new[kSecValueData as String] = Data(id.utf8)
            // Tokens come while the screen is locked.
            new[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            let status = SecItemAdd(new as CFDictionary, nil)
            // Another process of the app was faster.
            if status == errSecDuplicateItem, let known = try stored() { return known }
            guard status == errSecSuccess else { throw Failure(status: status) }
            return id
        }

        private func stored() throws -> String? {
            var query = item
            query[kSecReturnData as String] = true
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess, let data = found as? Data else { throw Failure(status: status) }
            return String(decoding: data, as: UTF8.self)
        }
    }
#endif
