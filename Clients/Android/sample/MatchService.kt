// Of the app (docs/android.md). It was compiled against stand-ins only, and has not run on a device.
package com.example.match

import android.content.BroadcastReceiver
import android.content.Context
import android.content.Intent
import com.google.firebase.messaging.FirebaseMessagingService
import com.google.firebase.messaging.RemoteMessage
import kotlin.concurrent.thread

class MatchService : FirebaseMessagingService() {
    private val lamplighter get() = (application as MatchApp).lamplighter

    override fun onNewToken(token: String) = lamplighter.setAddress(token)

    override fun onMessageReceived(message: RemoteMessage) {
        val update = lamplighter.receive(message.data) ?: return
        MatchCard(this).show(update)
    }

    override fun onDeletedMessages() = lamplighter.catchUp()
}

/** The user swiped a card away. */
class Dismissed : BroadcastReceiver() {
    override fun onReceive(context: Context, intent: Intent) {
        val name = intent.getStringExtra("name") ?: return
        val app = context.applicationContext as MatchApp
        val result = goAsync()
        thread {
            app.lamplighter.unfollow(name)
            result.finish()
        }
    }
}
