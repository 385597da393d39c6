package android.os;

public final class Bundle {
    public native void putBoolean(String key, boolean value);
}
