package com.google.firebase.messaging;

public class FirebaseMessaging {
    public static native FirebaseMessaging getInstance();

    public native com.google.android.gms.tasks.Task<String> getToken();
}
