// This file was compiled against stand-ins of Android's declarations only (Tests/StandIns/Android). It has not run on a
// device.
package dev.lamplighter.client.android;

import android.app.Activity;
import android.app.Application;
import android.app.NotificationManager;
import android.content.Context;
import android.net.ConnectivityManager;
import android.net.Network;
import android.net.NetworkCapabilities;
import android.net.NetworkRequest;
import android.os.Bundle;
import android.util.Log;
import dev.lamplighter.client.Backend;
import dev.lamplighter.client.Lamplighter;
import dev.lamplighter.client.LamplighterException;
import java.io.File;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Makes the client of an app, which sends when the phone is online again and when the app comes to the foreground. It
 * needs Android 7.0 (API 24).
 */
public final class LamplighterAndroid {
    private static volatile Lamplighter client;

    private LamplighterAndroid() {}

    /**
     * Call it in {@code Application.onCreate}, because a message, a job and an activity begin the process alike.
     * Problems go to the log with the tag {@code Lamplighter}.
     */
    public static synchronized Lamplighter create(Application app, String url, String appKey, Backend backend) {
        if (client != null) return client;
        // A restored backup is another install.
        File folder = new File(app.getNoBackupFilesDir(), "lamplighter");
        final Lamplighter made = new Lamplighter(url, appKey, folder, backend, problem -> {
            Log.w("Lamplighter", problem.getMessage());
            // The process may end before the gateway answers.
            if (problem.getKind() == LamplighterException.Kind.DELAYED) SendJob.schedule(app);
        });
        client = made;
        final ExecutorService thread = Executors.newSingleThreadExecutor();
        ConnectivityManager network = (ConnectivityManager) app.getSystemService(Context.CONNECTIVITY_SERVICE);
        network.registerNetworkCallback(
            new NetworkRequest.Builder().addCapability(NetworkCapabilities.NET_CAPABILITY_INTERNET).build(),
            new ConnectivityManager.NetworkCallback() {
                @Override
                public void onAvailable(Network found) {
                    thread.execute(made::retryNow);
                }
            });
        app.registerActivityLifecycleCallbacks(new Foreground(() -> thread.execute(() -> {
            made.setNotificationsShown(areNotificationsShown(app));
            made.retryNow();
        })));
        return made;
    }

    /** The app's client, or null before `create`. */
    static Lamplighter client() {
        return client;
    }

    private static boolean areNotificationsShown(Context context) {
        NotificationManager notifications =
            (NotificationManager) context.getSystemService(Context.NOTIFICATION_SERVICE);
        return notifications.areNotificationsEnabled();
    }

    /** Tells that an activity is seen, after none was. */
    private static final class Foreground implements Application.ActivityLifecycleCallbacks {
        private final Runnable begins;
        private int started;

        Foreground(Runnable begins) {
            this.begins = begins;
        }

        @Override
        public void onActivityStarted(Activity activity) {
            if (started++ == 0) begins.run();
        }

        @Override
        public void onActivityStopped(Activity activity) {
            started--;
        }

        @Override
        public void onActivityCreated(Activity activity, Bundle state) {}

        @Override
        public void onActivityResumed(Activity activity) {}

        @Override
        public void onActivityPaused(Activity activity) {}

        @Override
        public void onActivitySaveInstanceState(Activity activity, Bundle state) {}

        @Override
        public void onActivityDestroyed(Activity activity) {}
    }
}
