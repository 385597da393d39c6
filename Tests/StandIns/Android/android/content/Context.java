package android.content;

public abstract class Context {
    public static final String CONNECTIVITY_SERVICE = "connectivity";
    public static final String JOB_SCHEDULER_SERVICE = "jobscheduler";
    public static final String NOTIFICATION_SERVICE = "notification";

    public native java.io.File getNoBackupFilesDir();

    public native Object getSystemService(String name);

    public native Context getApplicationContext();
}
