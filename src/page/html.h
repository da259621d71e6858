/* html.h - pages of HTML that need no script: all texts of others are escaped */
#pragma once

#include "base/json.h"

/* Adds `text` (NULL: nothing) with &, <, >, " and ' escaped; control bytes become spaces. */
void html_text(struct buf *b, const char *text);

struct html_page {
    const char *title;
    const char *user; /* NULL: not signed in */
    const char *here; /* path of the view */
    const char *script;
};

/* Begin and end a page; between them is the content of <main>. */
void html_begin(struct buf *b, const struct html_page *p);
void html_end(struct buf *b);

/* `free`: FreeReport; `jobs`: JobList; NULL: not to be had. */
void html_now(struct buf *b, const json_t *free, const json_t *jobs);
void html_jobs(struct buf *b, const json_t *jobs, const json_t *query);
/* `object`: pod or Job; `workload`, `log`: NULL: none. */
void html_job(struct buf *b, const json_t *object, const json_t *workload, struct str log);
void html_sign_in(struct buf *b, const char *message);
