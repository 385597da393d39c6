#pragma once
#include <hiredis/hiredis.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

// Makes a wake-up handle, because Swift's Glibc module leaves out <sys/eventfd.h>.
static inline int chiredis_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

// Names the calling thread (15 bytes at most), because prctl is variadic and _GNU_SOURCE hides pthread_setname_np.
static inline void chiredis_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
