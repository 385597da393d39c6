package android.content;

public class Intent {
    public Intent(Context context, Class<?> type) {}

    public native Intent putExtra(String name, String value);

    public native String getStringExtra(String name);

    public native Intent setData(android.net.Uri data);

    public native android.net.Uri getData();
}
