// A stand-in for Apple's declarations: see ActivityKit.swift.
public typealias CFDictionary = [String: Any]
public typealias CFString = String
public typealias CFTypeRef = AnyObject
public typealias OSStatus = Int32

public let kSecClass: CFString = ""
public let kSecClassGenericPassword: CFString = ""
public let kSecAttrService: CFString = ""
public let kSecAttrAccount: CFString = ""
public let kSecAttrAccessGroup: CFString = ""
public let kSecAttrAccessible: CFString = ""
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = ""
public let kSecValueData: CFString = ""
public let kSecReturnData: CFString = ""
public let kSecReturnAttributes: CFString = ""
public let kSecMatchLimit: CFString = ""
public let kSecMatchLimitAll: CFString = ""
public let errSecSuccess: OSStatus = 0
public let errSecItemNotFound: OSStatus = -25300
public let errSecDuplicateItem: OSStatus = -25299

public func SecItemAdd(_: CFDictionary, _: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { fatalError() }
public func SecItemCopyMatching(_: CFDictionary, _: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { fatalError() }
public func SecItemUpdate(_: CFDictionary, _: CFDictionary) -> OSStatus { fatalError() }
public func SecItemDelete(_: CFDictionary) -> OSStatus { fatalError() }
