internal import COpenSSL

/// The library as a whole.
public enum OpenSSLLibrary {
    /// Lets OpenSSL free nothing when the process exits. Call it before anything else uses OpenSSL. Otherwise `exit`
    /// frees tables that a connecting thread still reads, and the process ends with a signal in place of its exit code.
    public static func keepUntilExit() { OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }
}
