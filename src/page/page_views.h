/* page_views.h - views as plain HTML, with what the API says to the session's user */
#pragma once

#include "page/forward.h"

/* Header lines of every answer: nothing of others is loaded, nothing inline runs, no frames. */
#define PAGE_SECURITY                                                                    \
    "Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'self'; " \
    "frame-ancestors 'none'; object-src 'none'\r\n"                                      \
    "X-Frame-Options: DENY\r\n"                                                          \
    "Referrer-Policy: same-origin\r\n"                                                   \
    "Cross-Origin-Opener-Policy: same-origin\r\n"                                        \
    "Cross-Origin-Resource-Policy: same-origin\r\n"

/* Answers a GET of a view: Now, Jobs and Job whole, other views as the frame for the script. */
void page_view(const struct forward_target *api, const struct credential *who, struct exchange *x);
