// See the head of `ActivityKitSource.swift`: type-checked against a stand-in, not run.
#if canImport(ActivityKit) && !os(macOS) && !targetEnvironment(macCatalyst)
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
        ///   - authorize: asks the app's backend for a token or a signature for a channel.
        public convenience init(
            url: URL, appKey: String, group: String? = nil,
            onProblem: @escaping @Sendable (LamplighterError) -> Void = LamplighterError.log,
            authorize: @escaping @Sendable (_ channel: String) async throws -> ChannelAccess
        ) {
            let files = FileManager.default
            let shared = group.flatMap { files.containerURL(forSecurityApplicationGroupIdentifier: $0) }
            if group != nil, shared == nil {
                onProblem(LamplighterError(kind: .storage, description: "the app is not in the group \(group ?? "")"))
            }
            func kit(in home: URL) -> URL { home.appendingPathComponent("LamplighterKit", isDirectory: true) }
            let own = kit(in: files.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0])
            var directory = shared.map(kit) ?? own
            try? files.createDirectory(at: directory, withIntermediateDirectories: true)
            // Tokens come while the phone is locked. New files have the protection of their directory.
            try? files.setAttributes(
                [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: directory.path)
            // A restored backup is another install, with other tokens. `OutboxState.install` guards against one that is
            // older.
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try? directory.setResourceValues(values)
            let keychain = KeychainInstallStore(group: group, except: nil, appKey: appKey)
            var store: any InstallStore = keychain
            // An update of the app may have brought the group. An extension has nothing of the app's to move.
            if let group, shared != nil, Self.isApp {
                store = SharedInstallStore(
                    own: KeychainInstallStore(group: nil, except: group, appKey: appKey), shared: keychain)
                OutboxFile.move(from: own, to: directory)
            }
            let system = ProcessInfo.processInfo.operatingSystemVersion
            self.init(
                Gateway(
                    url: url, appKey: appKey, clock: .device,
                    attestation: (DeviceAppAttest(), directory.appendingPathComponent("attested-key")),
                    authorize: authorize),
                directory: directory, store: store, system: "\(system.majorVersion).\(system.minorVersion)",
                tell: onProblem, hold: Self.holdInBackground)
            retryWhenOnline()
        }

        /// Follows the Live Activities of a type: which exist, begin, get another token, end or are dismissed. It also
        /// reports the type's push-to-start token, and receipts if the content state is a `LamplighterContent`.
        ///
        /// - Parameters:
        ///   - type: the name that publishers use in `attributes_type`, if it differs from the Swift type's name.
        ///   - name: the activity's name at the gateway.
        public func follow<Attributes: ActivityAttributes & SendableMetatype>(
            _: Attributes.Type, type: String = "\(Attributes.self)", name: @escaping @Sendable (Attributes) -> String
        ) {
            let source = ActivityKitSource<Attributes>(attributesType: type, name: name)
            Task { [registrar] in await registrar.follow(source) }
        }

        private func retryWhenOnline() {
            let monitor = NWPathMonitor()
            // The handler holds the monitor, because a monitor that nobody holds stops.
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
                // iOS calls the block again when the background time has expired, while the first call waits.
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
        /// A group whose items do not count. A query without a group finds the items of all.
        let except: String?
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
            let status = add(id)
            // Another process of the app was faster.
            if status == errSecDuplicateItem, let known = try stored() { return known }
            guard status == errSecSuccess else { throw Failure(status: status) }
            return id
        }

        func stored() throws -> String? { try found()?.id }

        func replace(with id: String?) throws {
            guard let old = try found() else {
                let status = id.map(add) ?? errSecSuccess
                guard status == errSecSuccess else { throw Failure(status: status) }
                return
            }
            var query = item
            query[kSecAttrAccessGroup as String] = old.group
            let status =
                if let id {
                    SecItemUpdate(
                        query as CFDictionary, [kSecValueData as String: Data(id.utf8)] as [String: Any] as CFDictionary
                    )
                } else { SecItemDelete(query as CFDictionary) }
            guard status == errSecSuccess else { throw Failure(status: status) }
        }

        private func add(_ id: String) -> OSStatus {
            var new = item
            new[kSecValueData as String] = Data(id.utf8)
            // Tokens come while the screen is locked.
            new[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            return SecItemAdd(new as CFDictionary, nil)
        }

        private func found() throws -> (id: String, group: String)? {
            var query = item
            query[kSecReturnData as String] = true
            query[kSecReturnAttributes as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitAll
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess, let items = found as? [[String: Any]] else { throw Failure(status: status) }
            for item in items {
                guard let data = item[kSecValueData as String] as? Data,
                    let group = item[kSecAttrAccessGroup as String] as? String, group != except
                else { continue }
                return (String(decoding: data, as: UTF8.self), group)
            }
            return nil
        }
    }
#else
    public import Foundation

    extension Lamplighter {
        /// Makes a kit where there are no Live Activities, such as Mac Catalyst, so that an app needs no `#if`.
        public convenience init(
            url: URL, appKey: String, group _: String? = nil,
            onProblem: @escaping @Sendable (LamplighterError) -> Void = LamplighterError.log,
            authorize: @escaping @Sendable (_ channel: String) async throws -> ChannelAccess
        ) {
            let home = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
            self.init(
                url: url, appKey: appKey, directory: home.appendingPathComponent("LamplighterKit", isDirectory: true),
                onProblem: onProblem, authorize: authorize)
        }

        /// Does nothing, because there are no Live Activities here.
        public func follow<Attributes>(
            _: Attributes.Type, type _: String = "\(Attributes.self)",
            name _: @escaping @Sendable (Attributes) -> String
        ) {}
    }
#endif
