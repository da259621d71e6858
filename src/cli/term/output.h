/*
 * output.h - the data that commands print: rows for people, objects for programs, from one listing
 *
 * Formats table and wide print rows, csv prints all columns unformatted; json, jsonl and yaml
 * print the objects, name their names. A null cell is unknown: "-" in tables, empty in csv. JSON
 * and YAML are never cut or coloured.
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
    bool is_wide;  /* wide and csv only */
    bool is_right; /* a number */
    bool is_bytes; /* integers: "23.5Gi" in tables, unformatted in csv */
};

enum {
    SIZE_TEXT_SIZE = 24
};

/* Formats bytes: "512", "1.5Ki", "23.5Gi", rounded to a tenth. */
void size_format(int64_t bytes, char ret[SIZE_TEXT_SIZE]);

/* Formats thousandths of gpus: "2", "0.753". The caller frees the text. */
char *gpus_format(int64_t milli);

/* A quantity for people: that of the resource "gpu" as gpus_format, others as they are. NULL stays
 * NULL. The caller frees the text. */
char *amount_format(const char *resource, const char *quantity);

struct listing {
    VEC(struct output_column) columns;
    json_t *rows;            /* array of arrays of texts, integers or null */
    json_t *objects;         /* array, one object for each row */
    const char *api_version; /* of the list object in json and yaml */
    const char *kind;        /* "JobList" */
    const char *prefix;      /* for -o name: "pod" gives "pod/x"; NULL: the bare name */
    /* Prefix of an object, instead of `prefix`. May be NULL. */
    const char *(*prefix_of)(const json_t *object);
    bool is_single; /* one object was asked for by name: json and yaml print it without a list */
};

/* Starts a listing without columns and rows. */
void listing_init(struct listing *l, const char *kind);
void listing_done(struct listing *l);

/* Adds a column; copies `name`. "!" before the name: wide only; "#": right-aligned; "%": bytes,
 * right-aligned. */
void listing_column(struct listing *l, const char *name);

/* Adds a row. Takes `row`; takes a new reference to `object`. */
void listing_add(struct listing *l, json_t *row, json_t *object);

enum output_format output_format_of(const struct invocation *in);

/* Adds the listing in `format`; `columns` is the terminal's width, to which tables are cut; 0:
 * never cut. */
void listing_format(const struct listing *l, enum output_format format, bool has_headers,
                    size_t columns, struct buf *ret);

/* Prints in the format of the command's flags. ERR_INTERNAL: writing to stdout failed. */
struct err *listing_print(struct cli *c, const struct listing *l) MUST_CHECK;

/* Prints bytes to stdout and flushes. */
struct err *output_write(struct cli *c, struct str bytes) MUST_CHECK;
