#pragma once
#include <nghttp2/nghttp2.h>

/* nghttp2_frame is a union, which Swift reads by copying it whole. Each of its members begins with this header. */
static inline const nghttp2_frame_hd *cnghttp2_frame_header(const nghttp2_frame *frame) {
    return &frame->hd;
}

/* The same for a GOAWAY's fields. */
static inline const nghttp2_goaway *cnghttp2_frame_goaway(const nghttp2_frame *frame) {
    return &frame->goaway;
}

/* Macros and enumerators that Swift imports as other types than the functions take. */
static inline uint8_t cnghttp2_no_copy(void) {
    return NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
}

static inline uint8_t cnghttp2_no_copy_of_name(void) {
    return NGHTTP2_NV_FLAG_NO_COPY_NAME;
}
