package import Redis

extension Lua {
    static let backup: [RedisScript] = [registryRestore, registrySize, hashRestore]

    package static let registryRestore = script(
        "registry-restore", [.lone, .buckets, .registration, .newcomers], PackageResources.registry_restore_lua)
    package static let registrySize = script("registry-size", PackageResources.registry_size_lua)
    package static let hashRestore = script("hash-restore", PackageResources.hash_restore_lua)
}
