/* What the bare loops have in common: the request that they all send, and what they print. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#define TOKEN_BYTES 80
#define PREFIX "/3/device/"
#define PATH_BYTES (sizeof PREFIX - 1 + 2 * TOKEN_BYTES)
#define TOPIC "com.example.scores.push-type.liveactivity"
/* Sent before the clock starts: handshake, stream limit, first allocations. */
#define WARM_UP 2000

static const char *bench_host, *bench_ca, *bench_jwt;
static int bench_port, bench_in_flight, bench_requests;
static char *bench_body;
static size_t bench_body_bytes;

static void bench_fail(const char *what) {
    fprintf(stderr, "bare: %s\n", what);
    exit(1);
}

/* HOST PORT CA_FILE JWT BODY_FILE IN_FLIGHT REQUESTS */
static void bench_arguments(int count, char **values) {
    if (count != 8) bench_fail("usage: HOST PORT CA_FILE JWT BODY_FILE IN_FLIGHT REQUESTS");
    bench_host = values[1];
    bench_port = atoi(values[2]);
    bench_ca = values[3];
    bench_jwt = values[4];
    bench_in_flight = atoi(values[6]);
    bench_requests = atoi(values[7]) + WARM_UP;
    FILE *file = fopen(values[5], "rb");
    if (!file) bench_fail("no body file");
    bench_body = malloc(8192);
    bench_body_bytes = fread(bench_body, 1, 8192, file);
    fclose(file);
}

/* The path of request `number`; all different. NUL-terminated. */
static void bench_path(char *path, uint64_t number) {
    static const char digits[] = "0123456789abcdef";
    memcpy(path, PREFIX, sizeof PREFIX - 1);
    char *out = path + sizeof PREFIX - 1;
    for (int index = 0; index < TOKEN_BYTES; index++) {
        uint8_t byte = index < 8 ? (uint8_t)(number >> (8 * index)) : 0xab;
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    *out = 0;
}

static double bench_cpu_start, bench_start;

static double bench_cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6 + usage.ru_stime.tv_sec + usage.ru_stime.tv_usec * 1e-6;
}

static double bench_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void bench_begin(void) {
    bench_cpu_start = bench_cpu();
    bench_start = bench_clock();
}

static void bench_end(int failed) {
    double seconds = bench_clock() - bench_start, cpu = bench_cpu() - bench_cpu_start;
    int requests = bench_requests - WARM_UP;
    if (failed) fprintf(stderr, "bare: %d requests without a 200\n", failed);
    printf("{\"requests\":%d,\"failed\":%d,\"seconds\":%.3f,\"cpu_us\":%.3f}\n", requests, failed, seconds, cpu * 1e6 / requests);
}
