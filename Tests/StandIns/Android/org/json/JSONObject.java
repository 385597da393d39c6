package org.json;

public class JSONObject {
    public JSONObject() {}

    public JSONObject(String text) {}

    public native JSONObject put(String key, Object value);

    public native String getString(String key);

    public native int getInt(String key);

    public native int optInt(String key);

    public native String optString(String key);
}
