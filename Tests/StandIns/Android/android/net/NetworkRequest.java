package android.net;

public class NetworkRequest {
    public static class Builder {
        public native Builder addCapability(int capability);

        public native NetworkRequest build();
    }
}
