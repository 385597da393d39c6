package android.net;

public abstract class Uri {
    public static native Uri fromParts(String scheme, String part, String fragment);
}
