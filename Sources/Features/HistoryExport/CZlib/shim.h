#pragma once
#include <zlib.h>

// Swift cannot import these macros. 16 more than the size of the window asks for the head and the end of gzip.
static inline int czlib_deflate_init(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

static inline int czlib_inflate_init(z_stream *stream) { return inflateInit2(stream, 15 + 16); }
