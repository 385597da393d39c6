package android.app.job;

public abstract class JobScheduler {
    public abstract int schedule(JobInfo job);
}
