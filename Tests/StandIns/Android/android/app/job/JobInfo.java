package android.app.job;

public class JobInfo {
    public static final int NETWORK_TYPE_ANY = 1;

    public static final class Builder {
        public Builder(int id, android.content.ComponentName service) {}

        public native Builder setRequiredNetworkType(int type);

        public native JobInfo build();
    }
}
