// Of the app (docs/android.md). It was compiled against stand-ins only, and has not run on a device.
package com.example.match

import android.app.Application
import com.google.firebase.messaging.FirebaseMessaging
import dev.lamplighter.client.Lamplighter
import dev.lamplighter.client.android.LamplighterAndroid
import java.net.HttpURLConnection
import java.net.URL
import org.json.JSONObject
import kotlin.concurrent.thread

class MatchApp : Application() {
    lateinit var lamplighter: Lamplighter

    override fun onCreate() {
        super.onCreate()
        lamplighter = LamplighterAndroid.create(this, "https://push.example.com", "shop") { lamplighterToken(it) }
        FirebaseMessaging.getInstance().token.addOnSuccessListener { token ->
            thread { lamplighter.setAddress(token) }
        }
    }
}

/** Asks the app's own backend, which knows who is signed in. Put the user's session into the request. */
private fun lamplighterToken(channel: String): String {
    val connection = URL("https://api.example.com/lamplighter-token").openConnection() as HttpURLConnection
    connection.doOutput = true
    connection.connectTimeout = 10_000
    connection.readTimeout = 10_000
    connection.setRequestProperty("Content-Type", "application/json")
    connection.outputStream.use { it.write(JSONObject().put("channel", channel).toString().toByteArray()) }
    return connection.inputStream.use { JSONObject(it.reader().readText()).getString("token") }
}
