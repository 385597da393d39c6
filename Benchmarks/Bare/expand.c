/* The least that reading a name's tokens can cost on hiredis: the same requests as a worker's pages, three pages under way, tokens
   copied into a page's buffer, and for a tag expression the same questions about each page's channels.

     expand SOCKET APP NAME TOKENS [SET]…        prints one line of JSON */
#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define BUCKETS_A_PAGE 11
#define DEPTH 3
#define SWEEPS 3

typedef struct {
    int buckets;
    int channels;
    uint8_t bytes[256 << 10];
    const char *channel[4096];
} page;

static redisContext *redis;
static char root[512];
static page pages[DEPTH];

static void quit(const char *what) {
    fprintf(stderr, "expand: %s\n", what);
    exit(1);
}
static redisReply *next(void) {
    void *reply;
    if (redisGetReply(redis, &reply) != REDIS_OK) quit(redis->errstr);
    return reply;
}
static double server_cpu(void) {
    redisReply *reply = redisCommand(redis, "INFO cpu");
    double sys = 0, user = 0;
    char *line = strstr(reply->str, "used_cpu_sys:");
    if (line) sys = atof(line + 13);
    line = strstr(reply->str, "used_cpu_user:");
    if (line) user = atof(line + 14);
    freeReplyObject(reply);
    return sys + user;
}
static double own_cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}
static double wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void ask(page *p, int first, int count) {
    redisAppendCommand(redis, "MULTI");
    redisAppendCommand(redis, "HGET %s n", root);
    for (int i = 0; i < 5; i++) redisAppendCommand(redis, "EXISTS %s:%d:none", root, i);
    redisAppendCommand(redis, "HGET %s:none cut", root);
    p->buckets = count;
    for (int i = first; i < first + count; i++) {
        if (i) redisAppendCommand(redis, "HGETALL %s:%d", root, i);
        else redisAppendCommand(redis, "HGETALL %s", root);
    }
    redisAppendCommand(redis, "EXEC");
}
static int take(page *p) {
    for (int i = 0; i < p->buckets + 8; i++) freeReplyObject(next());
    redisReply *all = next();
    uint8_t *out = p->bytes;
    p->channels = 0;
    for (size_t bucket = 7; bucket < all->elements; bucket++) {
        redisReply *fields = all->element[bucket];
        for (size_t i = 0; i + 1 < fields->elements; i += 2) {
            redisReply *channel = fields->element[i], *record = fields->element[i + 1];
            if (channel->len == 1 || record->str[0] & 1) continue;
            memcpy(out, channel->str, channel->len);
            p->channel[p->channels++] = (char *)out;
            out += channel->len;
            memcpy(out, record->str + 12, record->len - 12);
            out += record->len - 12;
        }
    }
    freeReplyObject(all);
    return p->channels;
}
/* How many of the page are in the first or the second set, and not in the third. */
static int filter(page *p, char **sets, int count) {
    static const char *arguments[4200];
    static size_t lengths[4200];
    static uint8_t in[4][4096];
    int wanted = 0;
    for (int s = 0; s < count; s++) {
        arguments[0] = "SMISMEMBER", lengths[0] = 10;
        arguments[1] = sets[s], lengths[1] = strlen(sets[s]);
        for (int i = 0; i < p->channels; i++) arguments[2 + i] = p->channel[i], lengths[2 + i] = 16;
        redisAppendCommandArgv(redis, 2 + p->channels, arguments, lengths);
    }
    for (int s = 0; s < count; s++) {
        redisReply *reply = next();
        for (size_t i = 0; i < reply->elements; i++) in[s][i] = (uint8_t)reply->element[i]->integer;
        freeReplyObject(reply);
    }
    for (int i = 0; i < p->channels; i++) wanted += (in[0][i] || in[1][i]) && !in[2][i];
    return wanted;
}

int main(int count, char **values) {
    if (count != 5 && count != 8) quit("usage: SOCKET APP NAME TOKENS [three sets]");
    redis = redisConnectUnix(values[1]);
    if (!redis || redis->err) quit("no Redis");
    snprintf(root, sizeof root, "ll:b:{%s:%s}", values[2], values[3]);
    long expected = atol(values[4]);
    redisReply *reply = redisCommand(redis, "HGET %s n", root);
    int buckets = reply->str ? atoi(reply->str) : 1;
    double server = 0, own = 0, start = 0;
    long read = 0, taken = 0;
    for (int sweep = 0; sweep <= SWEEPS; sweep++) {
        if (sweep == 1) server = server_cpu(), own = own_cpu(), start = wall(), read = taken = 0;
        int asked = 0, open = 0, head = 0;
        while (asked < buckets || open) {
            while (open < DEPTH && asked < buckets) {
                int n = buckets - asked < BUCKETS_A_PAGE ? buckets - asked : BUCKETS_A_PAGE;
                ask(&pages[(head + open++) % DEPTH], asked, n);
                asked += n;
            }
            /* The filter's questions stand behind the pages that are under way: those are taken first. */
            if (count == 8) {
                for (int i = 0; i < open; i++) read += take(&pages[(head + i) % DEPTH]);
                for (int i = 0; i < open; i++) taken += filter(&pages[(head + i) % DEPTH], values + 5, 3);
                open = 0;
            } else {
                read += take(&pages[head]);
                head = (head + 1) % DEPTH;
                open--;
            }
        }
    }
    double seconds = wall() - start;
    own = own_cpu() - own;
    server = server_cpu() - server;
    if (read != expected * SWEEPS) quit("other tokens than expected");
    printf("{\"tokens\":%ld,\"taken\":%ld,\"seconds\":%.3f,\"cpu_us\":%.4f,\"redis_us\":%.4f}\n", expected,
           count == 8 ? taken / SWEEPS : expected, seconds / SWEEPS, own * 1e6 / (double)read, server * 1e6 / (double)read);
    return 0;
}
