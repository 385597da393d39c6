package android.net;

public class ConnectivityManager {
    public static class NetworkCallback {
        public void onAvailable(Network network) {}
    }

    public native void registerNetworkCallback(NetworkRequest request, NetworkCallback callback);
}
