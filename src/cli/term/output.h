/*
 * output.h - what commands print as data: rows for people, objects for programs, from one listing
 *
 * table and wide show rows, csv all of them raw; json, jsonl and yaml show the objects, name their
 * names. A cell that is null is unknown: "-" in tables, empty in csv. Nothing in JSON or YAML is
 * ever cut or coloured.
 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"

enum output_format {
    OUTPUT_TABLE,
    OUTPUT_WIDE,
    OUTPUT_NAME,
    OUTPUT_JSON,
    OUTPUT_JSONL,
    OUTPUT_YAML,
    OUTPUT_CSV
};

struct output_column {
    char *name;
    bool is_wide;  /* shown by wide and csv only */
    bool is_right; /* numbers */
    bool is_bytes; /* integers: "23.5Gi" in tables, plain in csv */
};

enum {
    SIZE_TEXT_SIZE = 24
};

/* "512", "1.5Ki", "23.5Gi": bytes for people, rounded to a tenth. */
void size_format(int64_t bytes, char ret[SIZE_TEXT_SIZE]);

struct listing {
    VEC(struct output_column) columns;
    json_t *rows;            /* array of arrays of texts, integers or null */
    json_t *objects;         /* array, one a row */
    const char *api_version; /* of the list in json and yaml */
    const char *kind;        /* "JobList" */
    const char *prefix;      /* of -o name: "pod" gives "pod/x"; NULL: the bare name */
    /* The same for each object, in place of `prefix`. May be NULL. */
    const char *(*prefix_of)(const json_t *object);
    bool is_single; /* one was asked for by name: json and yaml show it bare */
};

/* {0} but for its texts; columns and rows are added. */
void listing_init(struct listing *l, const char *kind);
void listing_done(struct listing *l);

/* `name` is copied. "!" before it: wide only; "#": right-aligned; "%": bytes, right-aligned. */
void listing_column(struct listing *l, const char *name);

/* Takes the row and a new reference to `object`. */
void listing_add(struct listing *l, json_t *row, json_t *object);

enum output_format output_format_of(const struct invocation *in);

/* Adds the listing in `format`; `columns` cuts table rows to a terminal's width, 0: never. */
void listing_format(const struct listing *l, enum output_format format, bool has_headers,
                    size_t columns, struct buf *ret);

/* Prints it as the flags of the command say. ERR_INTERNAL when stdout takes no more. */
struct err *listing_print(struct cli *c, const struct listing *l) MUST_CHECK;

/* Prints bytes to stdout and flushes. */
struct err *output_write(struct cli *c, struct str bytes) MUST_CHECK;
