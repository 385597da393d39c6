// This file was compiled against stand-ins of Android's declarations only (Tests/StandIns/Android). It has not run on a
// device.
package dev.lamplighter.client.android;

import android.app.job.JobInfo;
import android.app.job.JobParameters;
import android.app.job.JobScheduler;
import android.app.job.JobService;
import android.content.ComponentName;
import android.content.Context;
import dev.lamplighter.client.Lamplighter;

/** Sends the reports that wait when there is a network again, also if the app's process has ended. */
public final class SendJob extends JobService {
    /** Android knows a job by its number. */
    private static final int NUMBER = 0x4c616d70;
    /** Milliseconds. Android lets a job run for minutes. */
    private static final long LONGEST = 60_000;

    static void schedule(Context context) {
        JobScheduler jobs = (JobScheduler) context.getSystemService(Context.JOB_SCHEDULER_SERVICE);
        jobs.schedule(new JobInfo.Builder(NUMBER, new ComponentName(context, SendJob.class))
            .setRequiredNetworkType(JobInfo.NETWORK_TYPE_ANY).build());
    }

    @Override
    public boolean onStartJob(final JobParameters parameters) {
        final Lamplighter client = LamplighterAndroid.client();
        if (client == null) return false;
        new Thread(() -> {
            client.retryNow();
            boolean isSent = false;
            try {
                isSent = client.awaitSent(LONGEST);
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
            jobFinished(parameters, !isSent);
        }).start();
        return true;
    }

    /** Android ends the job early, and runs it again later. */
    @Override
    public boolean onStopJob(JobParameters parameters) {
        return true;
    }
}
