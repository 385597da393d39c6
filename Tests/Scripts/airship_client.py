"""Makes every call of Airship's Python client that Lamplighter serves, unmodified. Usage: airship_client.py URL KEY MASTER-SECRET"""

import datetime
import sys
import uuid

import urbanairship as ua
from urbanairship.client import BaseClient
from checks import check, passed
from urbanairship.enums import LiveActivityEvent

url, key, master = sys.argv[1:]
airship = BaseClient(key, base_url=f"{url}/api/")
airship.session.auth = (key, master)


def update(name, state):
    push = ua.Push(airship)
    push.audience = ua.all_
    push.device_types = ua.device_types("ios")
    push.notification = ua.notification(
        ios=ua.ios(live_activity=ua.live_activity(name, LiveActivityEvent.UPDATE, content_state=state))
    )
    return push


# Channels, their tags and users.
channels = [str(uuid.uuid4()) for _ in range(3)]
user = ua.NamedUser(airship, "user 7")
for channel in channels:
    check("associate", user.associate(channel, "ios").json()["ok"])
tags = ua.ChannelTags(airship)
tags.set_audience(ios=channels[0])
tags.add("city", ["berlin"])
check("channel tags", tags.send()["ok"])
check("tag of a user", user.tag("membership", add=["gold"])["ok"])
many = ua.NamedUserTags(airship)
many.set_audience(user_ids=["user 7"])
many.set("loyalty", ["gold", "silver"])
check("tags of users", many.send()["ok"])
check("update of a user", user.update(tags={"add": {"team": ["reds"]}}).json()["ok"])

found = ua.ChannelInfo(airship).lookup(channels[0])
check("look-up of a channel", found.channel_id == channels[0] and found.named_user_id == "user 7")
check("its tags", found.tag_groups["city"] == ["berlin"] and found.tag_groups["membership"] == ["gold"])
check("its times", isinstance(found.created, datetime.datetime) and isinstance(found.last_registration, datetime.datetime))
listed = [channel.channel_id for channel in ua.ChannelList(airship, limit=2)]
check(f"list of channels: {listed}", sorted(listed) == sorted(channels))
shown = user.lookup()["named_user"]
check("look-up of a user", {channel["channel_id"] for channel in shown["channels"]} == set(channels))
check("list of users", [entry.named_user_id for entry in ua.NamedUserList(airship)] == ["user 7"])

# Pushes.
check("validate", update("match-42", {"home": 1}).validate().ok)
sent = update("match-42", {"home": 1}).send()
check("send", len(sent.push_ids) == 1)
try:
    wrong = update("match-42", {"home": 1})
    wrong.audience = {"nobody": 1}
    wrong.send()
    check("a wrong audience is refused", False)
except ua.AirshipFailure as failure:
    check("an error has its code and its text", failure.error_code == 40000 and "audience" in str(failure.error))

# Schedules.
schedule = ua.ScheduledPush(airship)
schedule.name = "kick-off"
schedule.schedule = ua.scheduled_time(datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) + datetime.timedelta(hours=1))
schedule.push = update("match-43", {"home": 0})
check("schedule", len(schedule.send().schedule_url) == 1)
again = ua.ScheduledPush.from_url(airship, schedule.url)
check("schedule by its address", again.name == "kick-off")
again.schedule = ua.scheduled_time(datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) + datetime.timedelta(hours=2))
check("update of a schedule", again.update().ok)
check("list of schedules", [entry.url for entry in ua.ScheduledList(airship)] == [schedule.url])
check("cancel", schedule.cancel().status_code == 204)

# To forget.
check("disassociate", user.disassociate(channels[2], "ios").json()["ok"])
gone = [{"channel_id": channels[0], "device_type": "ios"}]
check("uninstall of a channel", ua.ChannelUninstall(airship).uninstall(gone).json()["ok"])
check("uninstall of a user", ua.NamedUser.uninstall(airship, ["user 7"]).json()["ok"])
left = [channel.channel_id for channel in ua.ChannelList(airship)]
check(f"what is left: {left}", left == [channels[2]])
check("no user is left", list(ua.NamedUserList(airship)) == [])
passed()
