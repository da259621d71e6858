/*
 * page.h - the web page: sign-in, the files of the front end, pages without scripts, and the API
 * under the session's user
 *
 *   GET  /in              the page to sign in; the link's code is behind '#', which browsers keep
 *   POST /in              k=CODE: makes a session, by a cookie
 *   POST /out             ends it
 *   GET  /assets/...      files, for everybody
 *   GET  /, /jobs, ...    views
 *   GET  /page/me         who is signed in
 *   GET  /page/live       what changes: live.h
 *   any  /api, /apis, /version, /metrics, /mete.dev/v1/audit   the API. Changes need the header
 *                         X-Mete, and this page's Origin
 */
#pragma once

#include "page/forward.h"
#include "store/store.h"

struct page_options {
    struct loop *loop;
    struct store *store;
    logins_random_fn random;
    void *random_arg;
    const char *host_name; /* of this machine; copied */
    const char *url;       /* "http://127.0.0.1:7480"; copied */
    unsigned port;
};

struct page;
struct page *page_new(const struct page_options *o);
void page_free(struct page *p); /* accepts NULL; all exchanges have ended */

/* Sets who answers requests of the API. */
void page_serve(struct page *p, request_fn api, void *arg);

/* Makes a one-time link for the caller of `r`. The caller frees it. */
char *page_make_link(struct page *p, const struct api_request *r, const char *user);

/* A request_fn: `arg` is the page. */
void page_handle(void *arg, struct exchange *x);
