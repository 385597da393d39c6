#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Glibc's Swift module leaves sys/eventfd.h out. */
static inline int clinux_eventfd(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* Glibc's Swift module leaves sys/epoll.h out, and epoll_data is a union. Level-triggered. */
static inline int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
    return epoll_ctl(epoll, operation, descriptor, &event);
}

static inline int clinux_event_descriptor(const struct epoll_event *event) {
    return event->data.fd;
}

/* prctl is variadic, and Glibc's module hides pthread_setname_np (_GNU_SOURCE). Names the calling thread. */
static inline int clinux_name_thread(const char *name) {
    return prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* Glibc's module hides memfd_create (_GNU_SOURCE). 1 is MFD_CLOEXEC. */
static inline int clinux_memory_file(const char *name) {
    return (int)syscall(SYS_memfd_create, name, 1u);
}
