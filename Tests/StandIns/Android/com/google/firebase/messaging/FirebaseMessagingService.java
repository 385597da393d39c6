package com.google.firebase.messaging;

public class FirebaseMessagingService extends android.app.Service {
    public void onMessageReceived(RemoteMessage message) {}

    public void onDeletedMessages() {}

    public void onNewToken(String token) {}
}
