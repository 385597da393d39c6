package android.app;

public class Notification {
    public abstract static class Style {}

    public static class ProgressStyle extends Style {
        public static final class Segment {
            public Segment(int length) {}
        }

        public native ProgressStyle setProgress(int progress);

        public native ProgressStyle setProgressSegments(java.util.List<Segment> segments);
    }

    public static class Builder {
        public Builder(android.content.Context context, String channel) {}

        public native Builder setSmallIcon(int icon);

        public native Builder setContentTitle(CharSequence title);

        public native Builder setContentText(CharSequence text);

        public native Builder setOnlyAlertOnce(boolean isOnce);

        public native Builder setOngoing(boolean isOngoing);

        public native Builder setDeleteIntent(PendingIntent intent);

        public native Builder setTimeoutAfter(long milliseconds);

        public native Builder setStyle(Style style);

        public native Builder setShortCriticalText(String text);

        public native Builder setProgress(int most, int progress, boolean isUnknown);

        public native android.os.Bundle getExtras();

        public native Notification build();
    }
}
