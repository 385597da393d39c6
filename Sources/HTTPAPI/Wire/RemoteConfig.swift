import HTTPTypes
import StrictJSON

/// The remote config of Airship's SDK.
enum RemoteConfig {
    // The SDK stores the date of the config. The gateway always sends the whole config, so one date is enough.
    private static let timestamp = "2026-01-01T00:00:00"
    private static let lastModified = "Thu, 01 Jan 2026 00:00:00 GMT"
    /// Milliseconds: one day instead of the SDK's ten minutes. The SDK resolves its contact before it updates its
    /// channel, unless the last time is this recent. Nothing here depends on the response.
    private static let resolveAge: Int64 = 86_400_000

    /// `analytics_url` is this gateway too, because the SDK would otherwise send its analytics to Airship.
    static func answer(url: String) -> Answer {
        let data: JSON = [
            "airship_config": [
                "device_api_url": .string(url), "remote_data_url": .string(url), "analytics_url": .string(url),
            ],
            "contact_config": ["max_cra_resolve_age_ms": .integer(resolveAge)],
            "fetch_contact_remote_data": false,
        ]
        let payload: JSON = ["type": "app_config", "timestamp": .string(timestamp), "data": data]
        var answer = Answer(200, json: (["ok": true, "payloads": [payload]] as JSON).bytes)
        answer.fields.append((.lastModified, lastModified))
        return answer
    }
}
