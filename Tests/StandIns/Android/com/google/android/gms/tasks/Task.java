package com.google.android.gms.tasks;

public abstract class Task<T> {
    public abstract Task<T> addOnSuccessListener(OnSuccessListener<? super T> listener);
}
