/* image.h - the parts of `mete image`: image.c (subcommands), image_ask.c (requests with progress),
 * image_import.c (uploads), image_reader_linux.c (archives) */
#pragma once

#include "cli/session.h"

/* Sends a request, shows its progress lines as `what`, and returns the last line. */
struct err *image_ask(struct cli *c, struct session *s, const char *path, const char *what,
                      json_t **ret) MUST_CHECK;

/* Sends a file ("-": standard input) or a directory; returns the last line of the answer. */
struct err *image_send(struct cli *c, struct session *s, const char *path, const char *file,
                       json_t **ret) MUST_CHECK;

/* Reads progress lines {"progress":TEXT} of an answer; keeps the last line of another form. */
struct image_lines {
    struct progress *progress;
    struct buf text; /* an incomplete line */
    json_t *last;
    bool is_live; /* on a terminal: shows bytes; else only the number of the layer */
};

void image_lines_init(struct image_lines *l, struct cli *c, struct session *s, const char *what);
void image_lines_take(struct image_lines *l, struct str piece);
void image_lines_done(struct image_lines *l);
/* Returns the last line, or the error that the last line contains. */
struct err *image_lines_result(struct image_lines *l, json_t **ret) MUST_CHECK;

/* Reads an archive in pieces: a file unchanged, a directory as a tar. */
struct image_reader;
struct err *image_reader_open(const char *path, struct image_reader **ret) MUST_CHECK;
void image_reader_free(struct image_reader *r); /* accepts NULL */
/* Adds the next bytes to `ret`; adds none at the end. */
struct err *image_reader_next(struct image_reader *r, struct buf *ret) MUST_CHECK;
