package com.google.firebase.messaging;

public final class RemoteMessage {
    public native java.util.Map<String, String> getData();
}
