// Of the app (docs/android.md). It was compiled against stand-ins only, and has not run on a device.
package com.example.match

import android.app.Notification
import android.app.NotificationChannel
import android.app.NotificationManager
import android.app.PendingIntent
import android.content.Context
import android.content.Intent
import android.net.Uri
import android.os.Build
import dev.lamplighter.client.LiveUpdate
import org.json.JSONObject

/** Draws a match: a progress bar of Android 16, and an ordinary one before it (API 26). */
class MatchCard(private val context: Context) {
    private val manager = context.getSystemService(Context.NOTIFICATION_SERVICE) as NotificationManager

    fun show(update: LiveUpdate) {
        val isEnd = update.event == LiveUpdate.Event.END
        // An end without a content state leaves the card as it is, so it can only go.
        val state = update.contentState?.let { JSONObject(it) }
            ?: return if (isEnd) manager.cancel(update.name, 0) else Unit
        manager.createNotificationChannel(
            NotificationChannel("matches", "Matches", NotificationManager.IMPORTANCE_DEFAULT)
        )
        val score = "${state.getInt("home")} : ${state.getInt("away")}"
        val minute = state.optInt("minute")
        val card = Notification.Builder(context, "matches")
            .setSmallIcon(android.R.drawable.ic_media_play)
            .setContentTitle(score)
            .setContentText(state.optString("clock"))
            .setOnlyAlertOnce(true)
            .setOngoing(!isEnd)
            .setDeleteIntent(dismissal(update.name))
        if (isEnd) {
            update.dismissalDate?.let { card.setTimeoutAfter(maxOf(1, it * 1_000 - System.currentTimeMillis())) }
        } else if (Build.VERSION.SDK_INT >= 36) {
            val half = Notification.ProgressStyle.Segment(45)
            card.setStyle(Notification.ProgressStyle().setProgress(minute).setProgressSegments(listOf(half, half)))
            card.setShortCriticalText(score)
            card.extras.putBoolean("android.requestPromotedOngoing", true)
        } else {
            card.setProgress(90, minute, false)
        }
        manager.notify(update.name, 0, card.build())
    }

    private fun dismissal(name: String): PendingIntent {
        val intent = Intent(context, Dismissed::class.java).putExtra("name", name)
        // Android takes two intents for one if they differ in their extras alone.
        intent.data = Uri.fromParts("match", name, null)
        return PendingIntent.getBroadcast(
            context, 0, intent, PendingIntent.FLAG_IMMUTABLE or PendingIntent.FLAG_UPDATE_CURRENT
        )
    }
}
