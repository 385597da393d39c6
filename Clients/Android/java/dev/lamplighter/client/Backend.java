package dev.lamplighter.client;

/** The app's own backend, which knows who is signed in. An app never holds the app secret. */
public interface Backend {
    /**
     * Asks the backend for a token of a channel: the {@code token} of {@code GET /api/auth/device?only=reports}, which
     * the backend calls with the app secret and {@code X-UA-Channel-ID}. Called on the client's own thread, about once
     * an hour.
     */
    String token(String channel) throws Exception;
}
