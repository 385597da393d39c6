package import Redis

extension Lua {
    package static let registryRestore = script("registry-restore")
    package static let hashRestore = script("hash-restore")
}
