/* assets.h - the files of the front end, in the program (made by web/embed.py from web/dist) */
#pragma once

#include "http/request.h"

struct asset {
    const char *path; /* "/assets/app-1a2b3c4d.js": the name changes with the bytes */
    const char *content_type;
    const char *etag; /* with quotes */
    struct str plain;
    struct str gzip;
    struct str brotli;
};

extern const struct asset assets[];
extern const size_t assets_count;

/* Paths of what each page of HTML names. */
extern const char *const asset_style;
extern const char *const asset_app;
extern const char *const asset_sign_in;
extern const char *const asset_icon;

/* Answers a request for a file; NULL-terminated `security` are the header lines of each answer. */
void assets_answer(struct exchange *x, const char *security);
