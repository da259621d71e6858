/* curl_linux.h - libcurl's multi interface on our loop: what http_linux.c and stream_linux.c stand
 * on */
#pragma once

#include <curl/curl.h>

#include "client/client.h"

/* What of libcurl is called, each as sym_FUNCTION: loaded at the first use. */
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

/* Before any other call. ERR_INTERNAL where libcurl is not there. */
struct err *curl_load(void) MUST_CHECK;

/* Called from the loop after libcurl moved: outside of libcurl, so that everything may be called.
 */
typedef void (*curl_pump_fn)(void *arg);

struct curl_pump;

struct curl_pump *curl_pump_new(struct loop *l, curl_pump_fn fn, void *arg);
/* All easy handles were removed before. Not from inside `fn`. */
void curl_pump_free(struct curl_pump *p);
CURLM *curl_pump_multi(const struct curl_pump *p);

/* What every transfer to the server of `o` has in common: address, TLS, limits. ERR_INTERNAL when
 * libcurl refuses. */
struct err *curl_setup(CURL *easy, const struct client_options *o, const char *path) MUST_CHECK;

/* The failure of a transfer for people: "connect to /run/mete.sock: Connection refused". */
struct err *curl_error(CURLcode code, CURL *easy, const char *detail,
                       const struct client_options *o) MUST_CHECK;
