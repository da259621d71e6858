/* curl_linux.h - libcurl's multi interface on our loop: what http_linux.c and stream_linux.c stand
 * on */
#pragma once

#include <curl/curl.h>

#include "client/client.h"

/* Called from the loop after libcurl moved: outside of libcurl, so that everything may be called.
 */
typedef void (*curl_pump_fn)(void *arg);

struct curl_pump;

struct curl_pump *curl_pump_new(struct loop *l, curl_pump_fn fn, void *arg);
/* All easy handles were removed before. Not from inside `fn`. */
void curl_pump_free(struct curl_pump *p);
CURLM *curl_pump_multi(const struct curl_pump *p);

/* An own copy of what `o` points to. */
struct client_options *curl_options_copy(const struct client_options *o);
void curl_options_free(struct client_options *o);

/* What every transfer to the server of `o` has in common: address, TLS, limits. ERR_INTERNAL when
 * libcurl refuses. */
struct err *curl_setup(CURL *easy, const struct client_options *o, const char *path) MUST_CHECK;

/* The failure of a transfer for people: "connect to /run/mete.sock: Connection refused". */
struct err *curl_error(CURLcode code, CURL *easy, const char *detail,
                       const struct client_options *o) MUST_CHECK;
