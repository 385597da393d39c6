"""Follows, publishes and looks with a client that was generated from openapi.json. Usage: generated_client.py URL KEY MASTER-SECRET"""

import base64
import io
import sys
import uuid

from checks import check, passed
from generated import AuthenticatedClient, models
from generated.api.channels import get_channels_by_channel, post_channels_bulk, put_channels_by_channel
from generated.api.names import get_activities_by_name_channels_by_channel, put_activities_by_name_channels_by_channel
from generated.api.publish import get_push_by_push_id, get_push_by_push_id_content, post_push, post_push_validate
from generated.types import File

url, key, master = sys.argv[1:]
client = AuthenticatedClient(
    base_url=url, prefix="Basic", token=base64.b64encode(f"{key}:{master}".encode()).decode(), raise_on_unexpected_status=True)
channel, name, state = str(uuid.uuid4()), "match 42/ä", {"home": 1, "away": 0}


def update(content_state, audience="all"):
    activity = models.LiveActivity(
        name=name, event=models.LiveActivityEvent.UPDATE, content_state=models.LiveActivityContentState.from_dict(content_state))
    ios = models.PushNotificationIos(live_activity=activity)
    return models.Push(audience=audience, device_types=["ios"], notification=models.PushNotification(ios=ios))


# The app registers its card, and a server tags its channel.
card = models.Registration(token="ab" * 80, activity_id="E0", frequent_pushes_enabled=True)
followed = put_activities_by_name_channels_by_channel.sync(name, channel, client=client, body=card)
check(f"follow: {followed}", isinstance(followed, models.Registered) and followed.ok)
line = io.BytesIO(b'{"channel":"%s","add":{"team":["reds"]}}\n' % channel.encode())
tagged = post_channels_bulk.sync(client=client, body=File(payload=line))
check(f"lines: {tagged}", tagged.accepted == 1 and tagged.rejected_count == 0)
body = models.ChannelBody(channel=models.ChannelBodyChannel(device_type="ios", device_os="18.1"))
check("channel", put_channels_by_channel.sync(channel, client=client, body=body).channel_id == channel)
shown = get_channels_by_channel.sync(channel, client=client).channel
check(f"look-up of a channel: {shown}", shown.ios_18 and shown.live_activities[0].name == name)
check("its tags", shown.tag_groups.to_dict() == {"team": ["reds"]})

# A publisher checks a push, sends it once, and looks at it.
preview = post_push_validate.sync(client=client, body=update(state)).pushes[0]
check(f"preview: {preview}", preview.tokens == 1 and preview.payload.to_dict()["aps"]["content-state"] == state)
sent = [post_push.sync(client=client, body=update(state), idempotency_key="match-42/7") for _ in range(2)]
check(f"push: {sent}", sent[0].push_ids == sent[1].push_ids and len(sent[0].push_ids) == 1)
ledger = get_push_by_push_id.sync(sent[0].push_ids[0], client=client)
check(f"ledger: {ledger}", ledger.name == name and ledger.state is models.PushState.QUEUED)
content = get_push_by_push_id_content.sync(sent[0].push_ids[0], client=client)
check(f"content: {content}", content.payload.to_dict()["aps"]["content-state"] == state)
some = models.SelectorType0.from_dict({"tag": "reds", "group": "team"})
tagged = post_push.sync(client=client, body=update(state, some)).push_ids[0]
content = get_push_by_push_id_content.sync(tagged, client=client)
# The app sends to Android too, and the push is for iOS alone.
check(f"an audience: {content}", content.audience.to_dict() == some.to_dict() and content.device_types == ["ios"])
why = get_activities_by_name_channels_by_channel.sync(name, channel, client=client)
check(f"explanation: {why}", [reason.code.value for reason in why.reasons] == ["no_worker"] and why.following.name == name)

# Refusals.
wrong = post_push.sync(client=client, body=update(state, models.SelectorType0.from_dict({"nobody": 1})))
check(f"a refusal: {wrong}", isinstance(wrong, models.Error) and wrong.error_code == 40000)
missing = get_push_by_push_id.sync(str(uuid.uuid4()), client=client)
check(f"an unknown push: {missing}", isinstance(missing, models.Error) and missing.error_code // 100 == 404)
passed()
