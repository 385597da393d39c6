/* The least that accepting and settling a push can cost: one thread each, epoll, HTTP/1.1 by hand, hiredis, and a script for each
   push. Publishes that come while a commit is under way are committed together. The worker sends nothing.

     floor names SOCKET COUNT     order-0 … have a token
     floor gateway SOCKET         prints its port
     floor worker SOCKET */
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STREAM "floor"
#define ENTRIES 64
#define RETENTION 604800000L

static redisContext *redis;
static char digest[41];

static void fail(const char *what) {
    fprintf(stderr, "floor: %s\n", what);
    exit(1);
}

static redisReply *checked(void *reply) {
    redisReply *found = reply;
    if (!found) fail(redis->errstr);
    if (found->type == REDIS_REPLY_ERROR) fail(found->str);
    return found;
}

static redisReply *next_reply(void) {
    void *reply = NULL;
    if (redisGetReply(redis, &reply) != REDIS_OK) fail(redis->errstr);
    return checked(reply);
}

static void load_script(const char *path) {
    static char text[4096];
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    redisReply *reply = checked(redisCommand(redis, "SCRIPT LOAD %b", text, bytes));
    snprintf(digest, sizeof digest, "%s", reply->str);
    freeReplyObject(reply);
}

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned char *put(unsigned char *out, uint64_t value, int bytes) {
    while (bytes--) *out++ = (unsigned char)(value >> (8 * bytes));
    return out;
}

/* The gateway. */

struct connection {
    int descriptor;
    size_t bytes;
    char request[16384];
    unsigned char id[16];
    char name[64];
    const char *state;
    size_t state_bytes;
};

static struct connection *waiting[512], *committing[512];
static int waits, commits;

/* A UUID of version 7. */
static void make_id(unsigned char *id) {
    static uint64_t counter, noise = 88172645463325252u;
    noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
    counter++;
    unsigned char *out = put(id, milliseconds(), 6);
    out = put(out, 0x7000 | (counter & 0xfff), 2);
    put(out, noise, 8);
    id[8] = 0x80 | (id[8] & 63);
}

/* Reads name and content state, once the request is whole. */
static int is_request(struct connection *from) {
    ssize_t got = recv(from->descriptor, from->request + from->bytes, sizeof from->request - 1 - from->bytes, 0);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got <= 0) {
        close(from->descriptor);
        free(from);
        return 0;
    }
    from->bytes += (size_t)got;
    from->request[from->bytes] = 0;
    char *body = strstr(from->request, "\r\n\r\n"), *length = strcasestr(from->request, "content-length:");
    if (!body || !length || body + 4 + atol(length + 15) > from->request + from->bytes) return 0;
    if (!strstr(from->request, "Authorization: Basic ")) fail("no credential");
    char *name = strstr(body, "\"name\":\""), *state = strstr(body, "\"content_state\":");
    char *end = name ? strchr(name + 8, '"') : NULL;
    if (!end || !state || end - name - 8 >= (long)sizeof from->name) fail("no name or content state");
    memcpy(from->name, name + 8, (size_t)(end - name - 8));
    from->name[end - name - 8] = 0;
    from->state = state += 16;
    int depth = 0;
    do depth += (*state == '{') - (*state == '}');
    while (*state++ && depth);
    from->state_bytes = (size_t)(state - from->state);
    make_id(from->id);
    return 1;
}

static void commit(void) {
    memcpy(committing, waiting, sizeof *waiting * (size_t)waits);
    commits = waits, waits = 0;
    unsigned char numbers[12];
    put(put(put(numbers, 0x0332, 2), 28800000, 4), RETENTION, 6);
    for (int index = 0; index < commits; index++) {
        struct connection *push = committing[index];
        redisAppendCommand(
            redis, "EVALSHA %s 4 floor:n:{%s} floor:b:{%s} " STREAM " floor:i %b %s %b %b", digest, push->name, push->name, push->id,
            sizeof push->id, push->name, numbers, sizeof numbers, push->state, push->state_bytes);
    }
    int is_written = 0;
    while (!is_written)
        if (redisBufferWrite(redis, &is_written) != REDIS_OK) fail(redis->errstr);
}

static void answer(struct connection *to) {
    char id[37], body[256], head[512], *out = id;
    for (int index = 0; index < 16; index++) {
        out += sprintf(out, "%02x", to->id[index]);
        if (index == 3 || index == 5 || index == 7 || index == 9) *out++ = '-';
    }
    *out = 0;
    int bytes = snprintf(
        body, sizeof body, "{\"ok\":true,\"operation_id\":\"%s\",\"push_ids\":[\"%s\"],\"message_ids\":[],\"content_urls\":[]}", id, id);
    bytes = snprintf(
        head, sizeof head, "HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", bytes, body);
    if (send(to->descriptor, head, (size_t)bytes, MSG_NOSIGNAL) != bytes) fail("no answer");
    to->bytes = 0;
}

static void read_replies(void) {
    static int answered;
    void *reply;
    if (redisBufferRead(redis) != REDIS_OK) fail(redis->errstr);
    while (redisGetReplyFromReader(redis, &reply) == REDIS_OK && reply) {
        if (checked(reply)->type != REDIS_REPLY_INTEGER) fail("not the usual push");
        freeReplyObject(reply);
        if (++answered < commits) continue;
        for (int index = 0; index < commits; index++) answer(committing[index]);
        answered = commits = 0;
    }
}

static void gateway(void) {
    static char is_listener, is_redis;
    load_script("Benchmarks/Bare/floor-accept.lua");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), poll = epoll_create1(0), on = 1;
    if (bind(listener, (void *)&address, length) || listen(listener, 512)) fail("no port");
    getsockname(listener, (void *)&address, &length);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &is_listener};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    event.data.ptr = &is_redis;
    epoll_ctl(poll, EPOLL_CTL_ADD, redis->fd, &event);
    for (;;) {
        struct epoll_event events[128];
        int count = epoll_wait(poll, events, 128, -1);
        for (int index = 0; index < count; index++) {
            void *from = events[index].data.ptr;
            if (from == &is_redis) {
                read_replies();
            } else if (from != &is_listener) {
                if (is_request(from)) waiting[waits++] = from;
            } else {
                int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
                if (descriptor < 0) continue;
                setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                event.data.ptr = calloc(1, sizeof(struct connection));
                ((struct connection *)event.data.ptr)->descriptor = descriptor;
                epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
            }
        }
        if (!commits && waits) commit();
    }
}

/* The worker. */

static void settle(const redisReply *entries) {
    for (size_t index = 0; index < entries->elements; index++) {
        const redisReply *fields = entries->element[index]->element[1];
        const char *name = fields->element[1]->str, *id = fields->element[3]->str;
        redisAppendCommand(
            redis, "EVALSHA %s 2 floor:n:{%s} floor:pk:{%s} %b %llu %ld", digest, name, name, id, (size_t)16,
            (unsigned long long)milliseconds(), RETENTION);
    }
    const char *command[3 + ENTRIES] = {"XACK", STREAM, "workers"};
    for (size_t index = 0; index < entries->elements; index++) command[3 + index] = entries->element[index]->element[0]->str;
    redisAppendCommandArgv(redis, (int)(3 + entries->elements), command, NULL);
    command[1] = "XDEL", command[2] = STREAM;
    redisAppendCommandArgv(redis, (int)(2 + entries->elements), command + 1, NULL);
    for (size_t index = 0; index < entries->elements + 2; index++) freeReplyObject(next_reply());
}

static void worker(void) {
    load_script("Benchmarks/Bare/floor-settle.lua");
    freeReplyObject(redisCommand(redis, "XGROUP CREATE " STREAM " workers 0 MKSTREAM"));
    for (;;) {
        redisReply *reply =
            checked(redisCommand(redis, "XREADGROUP GROUP workers one COUNT %d BLOCK 5000 STREAMS " STREAM " >", ENTRIES));
        if (reply->type == REDIS_REPLY_ARRAY) settle(reply->element[0]->element[1]);
        freeReplyObject(reply);
    }
}

static void names(int count) {
    unsigned char record[107] = {7};
    for (int index = 0; index < count; index++) {
        put(record, (uint64_t)index, 4);
        redisAppendCommand(redis, "HSET floor:b:{order-%d} %b %b", index, record, (size_t)16, record + 16, (size_t)91);
        if (index % 200 != 199 && index != count - 1) continue;
        for (int reply = 0; reply <= index % 200; reply++) freeReplyObject(next_reply());
    }
}

int main(int count, char **words) {
    if (count < 3) fail("usage: names SOCKET COUNT, gateway SOCKET or worker SOCKET");
    redis = redisConnectUnix(words[2]);
    if (!redis || redis->err) fail("no Redis");
    if (strcmp(words[1], "names") == 0 && count == 4) {
        names(atoi(words[3]));
    } else if (strcmp(words[1], "worker") == 0) {
        worker();
    } else if (strcmp(words[1], "gateway") == 0) {
        gateway();
    }
    return 0;
}
