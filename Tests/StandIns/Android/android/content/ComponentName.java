package android.content;

public final class ComponentName {
    public ComponentName(Context context, Class<?> type) {}
}
