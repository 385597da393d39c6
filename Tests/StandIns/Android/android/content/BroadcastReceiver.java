package android.content;

public abstract class BroadcastReceiver {
    public static class PendingResult {
        public final native void finish();
    }

    public abstract void onReceive(Context context, Intent intent);

    public final native PendingResult goAsync();
}
