package android.app.job;

public abstract class JobService extends android.app.Service {
    public abstract boolean onStartJob(JobParameters parameters);

    public abstract boolean onStopJob(JobParameters parameters);

    public final native void jobFinished(JobParameters parameters, boolean again);
}
