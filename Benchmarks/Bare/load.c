/* A load generator for HTTP/1.1: many connections, one request at a time on each, as fast as they are answered or at a rate. At
   a rate, a request's time counts from when it was due, whether or not a connection was free. Prints one line of JSON.

     load --port N --path P [--host H] [--method M] [--body FILE] [--header H]… [--connections C] [--rate R] [--count N]
          [--first F] [--modulus M] [--log FILE]
     load --print --body FILE --count N [--first F]      writes the bodies to stdout instead

   In the path and the body, of request n = first, first + 1, …: {n}, {m} n modulo --modulus, {channel} a UUID, {raw} its 16
   bytes, {token} 80 bytes in hex, {now} epoch ms. --log: a line for each answer: n, sent and answered (epoch µs), status, body.
   SIGTERM: what was begun is the last. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define ROOM 65536
typedef struct {
    int fd, is_busy;
    uint64_t number;
    double due, sent;
    size_t out, out_sent, in;
    char *output, *input;
} connection;

static const char *host = "127.0.0.1", *method = "POST", *path = "/", *body = "", *headers[16];
static size_t body_bytes;
static int port, header_count, connection_count = 1, events, timer = -1;
static uint64_t count = 1, first, modulus = 1, begun, ended, failed;
static double rate, start;
static FILE *log_file;
static double *times;
static connection *all, **idle;
static int idle_count;
static volatile sig_atomic_t is_stopped;

static void on_term(int number) {
    (void)number;
    is_stopped = 1;
}
static void quit(const char *what) {
    fprintf(stderr, "load: %s\n", what);
    exit(1);
}
static double clock_of(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}
static uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}
static void channel_of(uint64_t n, uint8_t *out) {
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < 8; i++) out[half * 8 + i] = (uint8_t)(mixed(2 * n + (uint64_t)half) >> (8 * i));
    out[6] = (out[6] & 15) | 0x40;
    out[8] = (out[8] & 63) | 0x80;
}
static char *hex(char *out, const uint8_t *bytes, int n) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < n; i++) *out++ = digits[bytes[i] >> 4], *out++ = digits[bytes[i] & 15];
    return out;
}

/* Writes `text` with its fields filled in. */
static char *fill(char *out, const char *text, size_t bytes, uint64_t n) {
    for (const char *end = text + bytes; text < end; text++) {
        size_t left = (size_t)(end - text);
        if (*text != '{') {
            *out++ = *text;
        } else if (left >= 3 && !memcmp(text, "{n}", 3)) {
            out += sprintf(out, "%lu", n), text += 2;
        } else if (left >= 3 && !memcmp(text, "{m}", 3)) {
            out += sprintf(out, "%lu", n % modulus), text += 2;
        } else if (left >= 5 && !memcmp(text, "{now}", 5)) {
            out += sprintf(out, "%.0f", clock_of(CLOCK_REALTIME) * 1000), text += 4;
        } else if (left >= 5 && !memcmp(text, "{raw}", 5)) {
            channel_of(n, (uint8_t *)out), out += 16, text += 4;
        } else if (left >= 9 && !memcmp(text, "{channel}", 9)) {
            uint8_t id[16];
            static const int parts[] = {4, 2, 2, 2, 6};
            channel_of(n, id);
            for (int i = 0, at = 0; i < 5; at += parts[i++]) {
                if (i) *out++ = '-';
                out = hex(out, id + at, parts[i]);
            }
            text += 8;
        } else if (left >= 7 && !memcmp(text, "{token}", 7)) {
            for (uint64_t i = 0; i < 10; i++) {
                uint64_t word = mixed(n * 10 + i + ((uint64_t)1 << 62));
                out = hex(out, (uint8_t *)&word, 8);
            }
            text += 6;
        } else {
            *out++ = *text;
        }
    }
    return out;
}

static void compose(connection *c) {
    static char content[ROOM / 2];
    size_t length = (size_t)(fill(content, body, body_bytes, c->number) - content);
    char *out = c->output + sprintf(c->output, "%s ", method);
    out = fill(out, path, strlen(path), c->number);
    out += sprintf(out, " HTTP/1.1\r\nHost: %s:%d\r\n", host, port);
    for (int i = 0; i < header_count; i++) out += sprintf(out, "%s\r\n", headers[i]);
    out += sprintf(out, "Content-Length: %zu\r\n\r\n", length);
    memcpy(out, content, length);
    c->out = (size_t)(out - c->output) + length;
    c->out_sent = c->in = 0;
}

static void flush(connection *c) {
    while (c->out_sent < c->out) {
        ssize_t n = send(c->fd, c->output + c->out_sent, c->out - c->out_sent, MSG_NOSIGNAL);
        if (n > 0)
            c->out_sent += (size_t)n;
        else if (errno != EINTR)
            return;
    }
}

static void begin(connection *c, double due) {
    c->number = first + begun++;
    c->is_busy = 1;
    compose(c);
    c->sent = clock_of(CLOCK_REALTIME);
    c->due = rate > 0 ? due : clock_of(CLOCK_MONOTONIC);
    flush(c);
}

/* Begins what is due on connections that are free. */
static void feed(void) {
    double now = clock_of(CLOCK_MONOTONIC);
    while (idle_count && begun < count) {
        double due = rate > 0 ? start + (double)begun / rate : now;
        if (due > now) break;
        begin(idle[--idle_count], due);
    }
}

/* True when the answer is whole. */
static int read_answer(connection *c) {
    ssize_t n = recv(c->fd, c->input + c->in, ROOM - 1 - c->in, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n <= 0) quit("the server closed a connection");
    c->in += (size_t)n;
    c->input[c->in] = 0;
    char *end = strstr(c->input, "\r\n\r\n");
    if (!end) return 0;
    size_t length = 0;
    for (char *line = c->input; line < end; line = strstr(line, "\r\n") + 2)
        if (!strncasecmp(line, "content-length:", 15)) length = strtoul(line + 15, NULL, 10);
    if ((size_t)(end + 4 - c->input) + length > c->in) return 0;
    int status = atoi(c->input + 9);
    times[ended++] = clock_of(CLOCK_MONOTONIC) - c->due;
    if (status / 100 != 2 && !failed++) fprintf(stderr, "load: %.300s\n", c->input);
    if (log_file)
        fprintf(log_file, "%lu %.0f %.0f %d %.*s\n", c->number, c->sent * 1e6, clock_of(CLOCK_REALTIME) * 1e6, status,
                (int)strcspn(end + 4, "\n"), end + 4);
    c->is_busy = 0;
    idle[idle_count++] = c;
    return 1;
}

static void dial(connection *c) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, host, &address.sin_addr);
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address)) quit("cannot connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
    c->output = malloc(ROOM);
    c->input = malloc(ROOM);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(events, EPOLL_CTL_ADD, c->fd, &event);
    idle[idle_count++] = c;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double share(double of) { return ended ? times[(uint64_t)((double)(ended - 1) * of)] * 1e6 : 0; }

int main(int argc, char **argv) {
    int prints = 0;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (!strcmp(name, "--print")) {
            prints = 1;
            continue;
        }
        if (++i == argc) quit("an option without a value");
        char *value = argv[i];
        if (!strcmp(name, "--host")) host = value;
        else if (!strcmp(name, "--port")) port = atoi(value);
        else if (!strcmp(name, "--method")) method = value;
        else if (!strcmp(name, "--path")) path = value;
        else if (!strcmp(name, "--header") && header_count < 16) headers[header_count++] = value;
        else if (!strcmp(name, "--connections")) connection_count = atoi(value);
        else if (!strcmp(name, "--rate")) rate = atof(value);
        else if (!strcmp(name, "--count")) count = strtoul(value, NULL, 10);
        else if (!strcmp(name, "--first")) first = strtoul(value, NULL, 10);
        else if (!strcmp(name, "--modulus")) modulus = strtoul(value, NULL, 10);
        else if (!strcmp(name, "--log")) log_file = fopen(value, "w");
        else if (!strcmp(name, "--body")) {
            FILE *file = fopen(value, "rb");
            if (!file) quit("no body file");
            char *text = malloc(8192);
            body_bytes = fread(text, 1, 8192, file);
            body = text;
            fclose(file);
        } else quit("an unknown option");
    }
    if (prints) {
        static char line[ROOM];
        setvbuf(stdout, NULL, _IOFBF, 1 << 20);
        for (uint64_t n = first; n < first + count; n++) fwrite(line, 1, (size_t)(fill(line, body, body_bytes, n) - line), stdout);
        return fflush(stdout) ? 1 : 0;
    }

    events = epoll_create1(0);
    all = calloc((size_t)connection_count, sizeof *all);
    idle = calloc((size_t)connection_count, sizeof *idle);
    times = calloc(count, sizeof *times);
    for (int i = 0; i < connection_count; i++) dial(&all[i]);
    start = clock_of(CLOCK_MONOTONIC);
    if (rate > 0) {
        timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
        epoll_ctl(events, EPOLL_CTL_ADD, timer, &event);
    }
    signal(SIGTERM, on_term);
    while (ended < count) {
        if (is_stopped && begun < count) count = begun;
        feed();
        if (rate > 0 && begun < count && idle_count) {
            double due = start + (double)begun / rate;
            struct itimerspec at = {.it_value = {(time_t)due, (long)((due - (double)(time_t)due) * 1e9)}};
            timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
        }
        struct epoll_event ready[256];
        int n = epoll_wait(events, ready, 256, -1);
        for (int i = 0; i < n; i++) {
            connection *c = ready[i].data.ptr;
            uint64_t ticks;
            if (!c) {
                if (read(timer, &ticks, sizeof ticks) < 0 && errno != EAGAIN) quit("no timer");
                continue;
            }
            if (c->is_busy) flush(c);
            read_answer(c);
        }
    }
    double seconds = clock_of(CLOCK_MONOTONIC) - start;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    qsort(times, ended, sizeof *times, ascending);
    if (log_file) fclose(log_file);
    printf("{\"requests\":%lu,\"failed\":%lu,\"seconds\":%.3f,\"cpu_us\":%.2f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"max_us\":%.0f}\n",
           count, failed, seconds, cpu * 1e6 / (double)count, share(0.5), share(0.99), share(1));
    return failed ? 1 : 0;
}
