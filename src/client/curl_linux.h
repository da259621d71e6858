/* curl_linux.h - libcurl's multi interface on the event loop, for http_linux.c and
 * stream_linux.c */
#pragma once

#include <curl/curl.h>

#include "client/client.h"

/* The functions of libcurl that Mete calls, each as sym_FUNCTION, loaded at the first use. */
/* clang-format off */
#define CURL_CALLS(X)                                                                            \
    X(curl_easy_cleanup) X(curl_easy_getinfo) X(curl_easy_init) X(curl_easy_recv)                \
    X(curl_easy_send) X(curl_easy_setopt) X(curl_easy_strerror) X(curl_free) X(curl_global_init) \
    X(curl_multi_add_handle) X(curl_multi_assign) X(curl_multi_cleanup) X(curl_multi_info_read)  \
    X(curl_multi_init) X(curl_multi_remove_handle) X(curl_multi_setopt)                          \
    X(curl_multi_socket_action) X(curl_multi_strerror) X(curl_slist_append)                      \
    X(curl_slist_free_all) X(curl_url) X(curl_url_cleanup) X(curl_url_get) X(curl_url_set)
/* clang-format on */

#define X(name) extern __typeof__(name) *sym_##name;
CURL_CALLS(X)
#undef X

/* Loads libcurl. Call it before any other function. ERR_INTERNAL: libcurl is not installed. */
struct err *curl_load(void) MUST_CHECK;

/* Called from the loop after libcurl made progress; libcurl is not on the stack, so the callback
 * may call any of its functions. */
typedef void (*curl_pump_fn)(void *arg);

struct curl_pump;

struct curl_pump *curl_pump_new(struct loop *l, curl_pump_fn fn, void *arg);
/* Remove all easy handles before. Must not be called from inside `fn`. */
void curl_pump_free(struct curl_pump *p);
CURLM *curl_pump_multi(const struct curl_pump *p);

/* Sets the options common to all transfers to the server of `o`: address, TLS, limits.
 * ERR_INTERNAL: libcurl refused an option. */
struct err *curl_setup(CURL *easy, const struct client_options *o, const char *path) MUST_CHECK;

/* Describes the failure of a transfer: "connect to /run/mete.sock: Connection refused". */
struct err *curl_error(CURLcode code, CURL *easy, const char *detail,
                       const struct client_options *o) MUST_CHECK;
