/* The least that a sender on libcurl can do with what is known to help: one multi and one connection, easy handles used
   again, the URL parsed once, TCP_CORK around each wake-up's work. No deadlines but libcurl's, no errors, no pages. */
#include "common.h"
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static CURLM *multi;
static curl_socket_t connection = CURL_SOCKET_BAD;
static CURL **idle;
static CURLU **urls;
static int idle_count, begun, ended, failed, in_flight, room = 1, warm;
static struct curl_slist *headers;
static char path[PATH_BYTES + 1];

static size_t drop(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)context;
    return size * count;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)context, (void)purpose;
    return connection = socket(address->family, address->socktype, address->protocol);
}

static void cork(int is_on) {
    if (connection != CURL_SOCKET_BAD && ended) setsockopt(connection, IPPROTO_TCP, TCP_CORK, &is_on, sizeof is_on);
}

static void make(int slot, const char *origin) {
    CURL *easy = curl_easy_init();
    urls[slot] = curl_url();
    curl_url_set(urls[slot], CURLUPART_URL, origin, 0);
    curl_easy_setopt(easy, CURLOPT_CURLU, urls[slot]);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *)(intptr_t)slot);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CAINFO, bench_ca);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)bench_body_bytes);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, bench_body);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 60000L);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    idle[idle_count++] = easy;
}

static void fill(void) {
    while (begun < bench_requests && in_flight < room) {
        CURL *easy = idle[--idle_count];
        void *slot;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &slot);
        bench_path(path, (uint64_t)begun++);
        curl_url_set(urls[(intptr_t)slot], CURLUPART_PATH, path, 0);
        curl_multi_add_handle(multi, easy);
        in_flight++;
    }
}

static void drain(void) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        CURL *easy = message->easy_handle;
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        if (status != 200) failed++;
        curl_multi_remove_handle(multi, easy);
        idle[idle_count++] = easy;
        in_flight--;
        ended++;
        if (room < bench_in_flight) room++;
    }
}

int main(int count, char **values) {
    char line[4096], origin[128];
    bench_arguments(count, values);
    idle = calloc((size_t)bench_in_flight, sizeof *idle);
    urls = calloc((size_t)bench_in_flight, sizeof *urls);
    snprintf(line, sizeof line, "authorization: bearer %s", bench_jwt);
    const char *lines[] = {"Accept:", "Content-Type:", "Expect:", line, "apns-push-type: liveactivity", "apns-topic: " TOPIC,
                           "apns-priority: 10", "apns-expiration: 0"};
    for (size_t index = 0; index < sizeof lines / sizeof *lines; index++) headers = curl_slist_append(headers, lines[index]);
    snprintf(origin, sizeof origin, "https://%s:%d", bench_host, bench_port);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 100000L);
    for (int slot = 0; slot < bench_in_flight; slot++) make(slot, origin);

    while (1) {
        int running;
        cork(1);
        fill();
        curl_multi_perform(multi, &running);
        drain();
        fill();
        curl_multi_perform(multi, &running);
        cork(0);
        if (!warm && ended >= WARM_UP) {
            warm = ended;
            bench_begin();
        }
        if (ended >= bench_requests) break;
        curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    bench_end(failed);
    return failed ? 1 : 0;
}
