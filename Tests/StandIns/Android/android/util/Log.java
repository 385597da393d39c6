package android.util;

public final class Log {
    public static native int w(String tag, String text);
}
