/* The least that a sender on libnghttp2 and OpenSSL can do: one connection, one thread, no deadlines, no errors, no pages.
   Requests are encoded together after each read and leave in records of up to 16 KiB. */
#include "common.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static nghttp2_session *session;
static SSL *ssl;
static uint8_t output[1 << 20];
static size_t output_bytes, output_sent;
static int begun, ended, failed, in_flight, room = 1, warm;
static size_t *offsets;
static int *statuses, *free_slots, free_count;
static nghttp2_nv fields[9];
static char path[PATH_BYTES + 1], bearer[2048], authority[64];

static ssize_t read_body(nghttp2_session *s, int32_t id, uint8_t *buffer, size_t room, uint32_t *flags,
                         nghttp2_data_source *source, void *context) {
    (void)s, (void)id, (void)buffer, (void)context;
    size_t *offset = &offsets[source->fd], left = bench_body_bytes - *offset, count = left < room ? left : room;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (count == left) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)count;
}

static void append(const uint8_t *bytes, size_t count) {
    if (output_bytes + count > sizeof output) bench_fail("the server does not read");
    memcpy(output + output_bytes, bytes, count);
    output_bytes += count;
}

static int send_body(nghttp2_session *s, nghttp2_frame *frame, const uint8_t *header, size_t count,
                     nghttp2_data_source *source, void *context) {
    (void)s, (void)frame, (void)context;
    append(header, 9);
    append((uint8_t *)bench_body + offsets[source->fd], count);
    offsets[source->fd] += count;
    return 0;
}

static int on_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name, size_t name_bytes,
                     const uint8_t *value, size_t value_bytes, uint8_t flags, void *context) {
    (void)name_bytes, (void)flags, (void)context;
    if (name[0] != ':' || value_bytes != 3) return 0;
    int slot = (int)(intptr_t)nghttp2_session_get_stream_user_data(s, frame->hd.stream_id) - 1;
    statuses[slot] = (value[0] - '0') * 100 + (value[1] - '0') * 10 + value[2] - '0';
    return 0;
}

static int on_close(nghttp2_session *s, int32_t id, uint32_t code, void *context) {
    (void)context;
    int slot = (int)(intptr_t)nghttp2_session_get_stream_user_data(s, id) - 1;
    if (slot < 0) return 0;
    if (code || statuses[slot] != 200) failed++;
    free_slots[free_count++] = slot;
    in_flight--;
    ended++;
    if (room < bench_in_flight) room++;
    return 0;
}

static nghttp2_nv field(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

static void encode(void) {
    const uint8_t *bytes;
    ssize_t count;
    while ((count = nghttp2_session_mem_send(session, &bytes)) > 0) append(bytes, (size_t)count);
    if (count < 0) bench_fail("mem_send");
}

static void fill(void) {
    int limit = (int)nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    if (limit > room) limit = room;
    while (begun < bench_requests && in_flight < limit) {
        int slot = free_slots[--free_count];
        offsets[slot] = 0;
        statuses[slot] = 0;
        bench_path(path, (uint64_t)begun++);
        nghttp2_data_provider body = {.source = {.fd = slot}, .read_callback = read_body};
        if (nghttp2_submit_request(session, NULL, fields, 9, &body, (void *)(intptr_t)(slot + 1)) < 0)
            bench_fail("submit_request");
        in_flight++;
        /* The path is encoded before it is written anew. */
        encode();
    }
    encode();
}

static int flush(void) {
    while (output_sent < output_bytes) {
        size_t count;
        if (SSL_write_ex(ssl, output + output_sent, output_bytes - output_sent, &count) != 1) {
            if (SSL_get_error(ssl, 0) != SSL_ERROR_WANT_WRITE) bench_fail("SSL_write");
            return 0;
        }
        output_sent += count;
    }
    output_sent = output_bytes = 0;
    return 1;
}

static void receive(void) {
    static uint8_t buffer[16384];
    size_t count;
    while (SSL_read_ex(ssl, buffer, sizeof buffer, &count) == 1) {
        if (nghttp2_session_mem_recv(session, buffer, count) < 0) bench_fail("mem_recv");
        if (!SSL_has_pending(ssl)) return;
    }
    if (SSL_get_error(ssl, 0) != SSL_ERROR_WANT_READ) bench_fail("the connection ended");
}

static int dial(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)bench_port)};
    inet_pton(AF_INET, bench_host, &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) bench_fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (SSL_CTX_load_verify_file(context, bench_ca) != 1) bench_fail("CA file");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_alpn_protos(context, (const uint8_t *)"\x02h2", 3);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 256 << 10);
    ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    if (SSL_connect(ssl) != 1) bench_fail("TLS");
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}

int main(int count, char **values) {
    bench_arguments(count, values);
    offsets = calloc((size_t)bench_in_flight, sizeof *offsets);
    statuses = calloc((size_t)bench_in_flight, sizeof *statuses);
    free_slots = calloc((size_t)bench_in_flight, sizeof *free_slots);
    for (int slot = 0; slot < bench_in_flight; slot++) free_slots[free_count++] = slot;
    snprintf(bearer, sizeof bearer, "bearer %s", bench_jwt);
    snprintf(authority, sizeof authority, "%s:%d", bench_host, bench_port);
    bench_path(path, 0);
    fields[0] = field(":method", "POST");
    fields[1] = field(":scheme", "https");
    fields[2] = field(":authority", authority);
    fields[3] = field(":path", path);
    fields[4] = field("authorization", bearer);
    fields[5] = field("apns-push-type", "liveactivity");
    fields[6] = field("apns-topic", TOPIC);
    fields[7] = field("apns-priority", "10");
    fields[8] = field("apns-expiration", "0");

    nghttp2_session_callbacks *callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_body);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_client_new(&session, callbacks, NULL);
    nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &settings, 1);

    int fd = dial(), is_flushed;
    while (1) {
        fill();
        is_flushed = flush();
        if (!warm && ended >= WARM_UP) {
            warm = ended;
            bench_begin();
        }
        if (ended >= bench_requests) break;
        struct pollfd state = {.fd = fd, .events = is_flushed ? POLLIN : POLLIN | POLLOUT};
        poll(&state, 1, -1);
        if (state.revents & POLLIN) receive();
    }
    bench_end(failed);
    return failed ? 1 : 0;
}
