/* image.h - the parts of `mete image`: image.c (the words), image_ask.c (questions that take a
 * while), image_import.c, image_reader_linux.c */
#pragma once

#include "cli/session.h"

/* Asks, and shows the lines of progress as `what` until the last line is there, which it returns.
 */
struct err *image_ask(struct cli *c, struct session *s, const char *path, const char *what,
                      json_t **ret) MUST_CHECK;

/* Sends a file ("-": standard input) or a directory; the answer's last line. */
struct err *image_send(struct cli *c, struct session *s, const char *path, const char *file,
                       json_t **ret) MUST_CHECK;

/* The progress of lines {"progress":TEXT}; keeps the last other one. */
struct image_lines {
    struct progress *progress;
    struct buf text; /* less than a line */
    json_t *last;
    bool is_live; /* on a terminal bytes are shown, else only which layer it is */
};

void image_lines_init(struct image_lines *l, struct cli *c, struct session *s, const char *what);
void image_lines_take(struct image_lines *l, struct str piece);
void image_lines_done(struct image_lines *l);
/* The last line, or the error that it tells. */
struct err *image_lines_result(struct image_lines *l, json_t **ret) MUST_CHECK;

/* An archive in pieces: a file as it is, a directory as a tar of it. */
struct image_reader;
struct err *image_reader_open(const char *path, struct image_reader **ret) MUST_CHECK;
void image_reader_free(struct image_reader *r); /* accepts NULL */
/* Adds some bytes; none at the end. */
struct err *image_reader_next(struct image_reader *r, struct buf *ret) MUST_CHECK;
