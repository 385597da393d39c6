#pragma once
#include <curl/curl.h>

/* Swift imports no variadic C function. Each shim fixes one argument class of one variadic call, and does nothing
   else; the `Curl` target may call nothing variadic but these. */

/* curl_easy_setopt takes its argument through `...`: options of type long. */
static inline CURLcode ccurl_easy_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt takes its argument through `...`: options of type curl_off_t. */
static inline CURLcode ccurl_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt takes its argument through `...`: strings, which libcurl copies (all but POSTFIELDS). */
static inline CURLcode ccurl_easy_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt takes its argument through `...`: object pointers, which libcurl keeps (PRIVATE, WRITEDATA,
   POSTFIELDS, ERRORBUFFER, …). */
static inline CURLcode ccurl_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt takes its argument through `...`: header lists, which libcurl keeps. */
static inline CURLcode ccurl_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

/* curl_easy_setopt takes its argument through `...`: a parsed URL, which libcurl keeps and reads at each start. */
static inline CURLcode ccurl_easy_set_url(CURL *easy, CURLU *value) {
    return curl_easy_setopt(easy, CURLOPT_CURLU, value);
}

/* curl_easy_setopt takes its argument through `...`: callbacks of the WRITEFUNCTION, HEADERFUNCTION and READFUNCTION
   form. */
static inline CURLcode ccurl_easy_set_data_callback(
    CURL *easy, CURLoption option, size_t (*callback)(char *bytes, size_t size, size_t count, void *context)) {
    return curl_easy_setopt(easy, option, callback);
}

/* curl_easy_setopt takes its argument through `...`: OPENSOCKETFUNCTION. */
static inline CURLcode ccurl_easy_set_opensocket(
    CURL *easy, curl_socket_t (*callback)(void *context, curlsocktype purpose, struct curl_sockaddr *address)) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

/* curl_easy_setopt takes its argument through `...`: CLOSESOCKETFUNCTION. */
static inline CURLcode ccurl_easy_set_closesocket(CURL *easy, int (*callback)(void *context, curl_socket_t socket)) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

/* curl_easy_setopt takes its argument through `...`: PREREQFUNCTION. */
static inline CURLcode ccurl_easy_set_prerequest(
    CURL *easy, int (*callback)(void *context, char *remote, char *local, int remotePort, int localPort)) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

/* curl_easy_setopt takes its argument through `...`: XFERINFOFUNCTION. */
static inline CURLcode ccurl_easy_set_progress(
    CURL *easy,
    int (*callback)(void *context, curl_off_t downTotal, curl_off_t down, curl_off_t upTotal, curl_off_t up)) {
    return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, callback);
}

/* curl_easy_getinfo writes its answer through `...`: answers of type long. */
static inline CURLcode ccurl_easy_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

/* curl_easy_getinfo writes its answer through `...`: answers of type curl_off_t. */
static inline CURLcode ccurl_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

/* curl_easy_getinfo writes its answer through `...`: CURLINFO_PRIVATE. */
static inline CURLcode ccurl_easy_get_private(CURL *easy, void **value) {
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, value);
}

/* curl_multi_setopt takes its argument through `...`: options of type long. */
static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/* Swift imports no anonymous union: the result of a finished transfer. */
static inline CURLcode ccurl_message_result(const CURLMsg *message) {
    return message->data.result;
}

/* Macros with casts that Swift does not import. */
static inline curl_socket_t ccurl_socket_bad(void) {
    return CURL_SOCKET_BAD;
}

/* CURLVERSION_NOW is a macro for an enumerator. */
static inline const curl_version_info_data *ccurl_version_info(void) { return curl_version_info(CURLVERSION_NOW); }
