public import Glibc
import Synchronization

/// The name service of this process, for one name: tests say where it leads. All other names are looked up as ever.
///
/// The linker gives a program's own function precedence over the C library's, for the shared libraries that it loads too,
/// so libcurl, our own lane and the simulator all ask here.
enum Resolver {
    static let name = "apns.lamplighter.test"

    /// IPv4 address.
    static let address = Mutex("127.0.0.1")
    static let lookups = Atomic(0)

    fileprivate typealias Function =
        @convention(c) (
            UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<addrinfo>?,
            UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>?
        ) -> Int32

    /// The C library's own. RTLD_NEXT, a cast that Swift does not import.
    fileprivate static let system: Function? = dlsym(UnsafeMutableRawPointer(bitPattern: -1), "getaddrinfo").map {
        unsafeBitCast($0, to: Function.self)
    }
}

@_cdecl("getaddrinfo")
public func resolveForTests(
    _ node: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ hints: UnsafePointer<addrinfo>?,
    _ result: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>?
) -> Int32 {
    guard let system = Resolver.system else { return EAI_SYSTEM }
    guard let node, strcmp(node, Resolver.name) == 0 else { return system(node, service, hints, result) }
    // As the C library says of a name where an address is asked for.
    if let hints, hints.pointee.ai_flags & AI_NUMERICHOST != 0 { return EAI_NONAME }
    Resolver.lookups.add(1, ordering: .relaxed)
    return Resolver.address.withLock { $0 }.withCString { system($0, service, hints, result) }
}
