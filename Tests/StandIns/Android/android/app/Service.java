package android.app;

public abstract class Service extends android.content.Context {
    public final native Application getApplication();
}
