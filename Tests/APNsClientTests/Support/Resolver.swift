public import Glibc
import Synchronization

/// The name resolution of this process for one name. Tests decide to which address it leads, and all other names
/// are resolved as usual.
///
/// The linker prefers a program's own function to that of the C library, also for shared libraries that the program
/// loads. So libcurl, our own lane and the simulator all call this function.
enum Resolver {
    static let name = "apns.lamplighter.test"

    /// The IPv4 address.
    static let address = Mutex("127.0.0.1")
    /// An IPv4 address before it, if any.
    static let first = Mutex<String?>(nil)
    static let lookups = Atomic(0)

    fileprivate typealias Function =
        @convention(c) (
            UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<addrinfo>?,
            UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>?
        ) -> Int32

    /// The C library's own function. The handle -1 is RTLD_NEXT, a cast that Swift does not import.
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
    // The C library answers the same for a name where an address is expected.
    if let hints, hints.pointee.ai_flags & AI_NUMERICHOST != 0 { return EAI_NONAME }
    Resolver.lookups.add(1, ordering: .relaxed)
    let code = Resolver.address.withLock { $0 }.withCString { system($0, service, hints, result) }
    guard code == 0, let result, let first = Resolver.first.withLock({ $0 }) else { return code }
    var list: UnsafeMutablePointer<addrinfo>?
    let other = first.withCString { system($0, service, hints, &list) }
    guard other == 0, let list else { return other }
    var last = list
    while let next = last.pointee.ai_next { last = next }
    last.pointee.ai_next = result.pointee
    result.pointee = list
    return 0
}
