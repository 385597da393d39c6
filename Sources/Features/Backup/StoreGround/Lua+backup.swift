package import Redis

extension Lua {
    static let backup: [RedisScript] = [registryRestore, hashRestore]

    package static let registryRestore = script(
        "registry-restore", [.lone, .buckets, .registration, .newcomers], PackageResources.registry_restore_lua)
    package static let hashRestore = script("hash-restore", PackageResources.hash_restore_lua)
}
