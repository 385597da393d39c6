package android.app;

public class NotificationManager {
    public static final int IMPORTANCE_DEFAULT = 3;

    public native boolean areNotificationsEnabled();

    public native void createNotificationChannel(NotificationChannel channel);

    public native void notify(String tag, int id, Notification notification);

    public native void cancel(String tag, int id);
}
