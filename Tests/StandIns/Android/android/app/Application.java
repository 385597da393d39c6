package android.app;

public class Application extends android.content.Context {
    public interface ActivityLifecycleCallbacks {
        void onActivityCreated(Activity activity, android.os.Bundle state);

        void onActivityStarted(Activity activity);

        void onActivityResumed(Activity activity);

        void onActivityPaused(Activity activity);

        void onActivityStopped(Activity activity);

        void onActivitySaveInstanceState(Activity activity, android.os.Bundle state);

        void onActivityDestroyed(Activity activity);
    }

    public void onCreate() {}

    public native void registerActivityLifecycleCallbacks(ActivityLifecycleCallbacks callbacks);
}
