// Shows ThreadSanitizer how Synchronization.Mutex works when two threads want it at once.
//
// The mutex's fast path is inlined into our code, where the sanitizer sees it. The slow paths of a contended lock are
// in libswiftSynchronization, which is not instrumented. So the sanitizer does not see that the lock changed hands, and
// reports every access under it as a race.
//
// These functions replace the slow paths, because our binary's symbols are bound before the library's. They tell the
// sanitizer and call the real functions. In any other build this file is empty.

#if __has_feature(thread_sanitizer)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// Methods of Synchronization._MutexHandle. Their self, the handle, is the address of the lock word.
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *handle

typedef SWIFT void (*lock_slow)(uint32_t, SELF);
typedef SWIFT void (*unlock_slow)(SELF);

static lock_slow real_lock;
static unlock_slow real_unlock;

// Runs while the process has one thread.
__attribute__((constructor)) static void find_real_functions(void) {
    real_lock = (lock_slow)dlsym(RTLD_NEXT, LOCK_SLOW);
    real_unlock = (unlock_slow)dlsym(RTLD_NEXT, UNLOCK_SLOW);
    if (!real_lock || !real_unlock) {
        fputs("CThreadSanitizer: this Swift's Mutex has other slow paths; adapt MutexSlowPath.c\n", stderr);
        abort();
    }
}

SWIFT void cthreadsanitizer_lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void cthreadsanitizer_unlock_slow(SELF) __asm__(UNLOCK_SLOW);

SWIFT void cthreadsanitizer_lock_slow(uint32_t thread, SELF) {
    real_lock(thread, handle);
    __tsan_acquire(handle);
}

SWIFT void cthreadsanitizer_unlock_slow(SELF) {
    __tsan_release(handle);
    real_unlock(handle);
}

#endif
