/*
 * columns.h - tables of Slurm's commands: columns, formats such as "%.18i %j", rows as text
 *
 * A row is a JSON object of kinds/slurm/slurm_rows.h or of the accounting.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/vec.h"
#include "model/moment.h"

/* What the cells of a table depend on besides their row. */
struct slurm_view {
    int64_t now_s;
    zone_fn zone;        /* NULL: UTC */
    bool keeps_unit;     /* --noconvert: memory stays in M */
    char unit;           /* of memory: K, M, G, T or P; 0: the one that suits */
    size_t indexes_size; /* of the text of an array's indexes, with its 0; 0: 64; SIZE_MAX: any */
};

typedef void (*slurm_cell_fn)(const json_t *row, const struct slurm_view *v, struct buf *out);

struct slurm_column {
    char letter;         /* 0: none */
    const char *name;    /* long name, in any case; NULL: none */
    const char *header;  /* of the long name, too */
    slurm_cell_fn write; /* NULL: the text or number of member `key` */
    const char *key;
    const char *absent; /* of a member that is not there; NULL: "" */
    int width;          /* of sacct; negative: left-justified */
};

enum {
    SLURM_WIDTH_LONGEST = -1, /* as wide as the longest value */
    SLURM_WIDTH_LARGEST = 65536
};

struct slurm_cell {
    const struct slurm_column *column;
    int width; /* 0: no padding; SLURM_WIDTH_LONGEST */
    bool is_right;
    char *suffix; /* text behind the cell; owned, NULL: none */
};

enum slurm_cut {
    SLURM_CUT,      /* text beyond the width is dropped */
    SLURM_CUT_PLUS, /* the same, with '+' as the last byte */
};

/* {0}: no columns; slurm_format_done frees it. */
struct slurm_format {
    VEC(struct slurm_cell) cells;
    char *prefix;         /* text before the first cell; owned, NULL: none */
    const char *expanded; /* a row whose member of this name is a set of indexes, "0-3,7", is
                           * printed as a line for each index; NULL: none */
    enum slurm_cut cut;
};

/*
 * Reads "%[.][WIDTH]LETTER" with text between; a '#' for the width is the longest value. `columns`
 * ends with a NULL header. ERR_INVALID: an unknown letter. `*ret`, which must be empty, changes on
 * success only.
 */
struct err *slurm_format_parse_letters(const char *text, const struct slurm_column *columns,
                                       struct slurm_format *ret) MUST_CHECK;

/* Reads "NAME[:[.]WIDTH[SUFFIX]],..."; the width is 20 unless given. ERR_INVALID: an unknown name.
 */
struct err *slurm_format_parse_names(const char *text, const struct slurm_column *columns,
                                     struct slurm_format *ret) MUST_CHECK;

/*
 * Reads "NAME[%[-]WIDTH],..." of sacct and sshare: widths are those of the columns unless given, a
 * negative one justifies left. ALL stands for all columns. With a `delimiter`, which is not NULL,
 * cells have no width, and the delimiter stands between them, where `is_ended` also behind the
 * last. ERR_INVALID: an unknown name.
 */
struct err *slurm_format_parse_fields(const char *text, const struct slurm_column *columns,
                                      const char *delimiter, bool is_ended,
                                      struct slurm_format *ret) MUST_CHECK;

/* Cuts "NAME[%[-]WIDTH]". `*ret_width` changes only where a width is given that is a number other
 * than 0. */
struct str slurm_field_cut(struct str item, int *ret_width);

/* The column of a letter, or of a long name in any case; NULL: unknown. */
const struct slurm_column *slurm_column_find(const struct slurm_column *columns, struct str name);

/* Adds the table: a line of headers where `has_header`, and a line for each row. */
void slurm_format_print(const struct slurm_format *f, const json_t *rows,
                        const struct slurm_view *v, bool has_header, struct buf *out);

/* Adds the line of dashes below the headers. */
void slurm_format_add_dashes(const struct slurm_format *f, struct buf *out);

void slurm_format_done(struct slurm_format *f);

/* The text of one cell. The caller frees it. */
char *slurm_cell_text(const struct slurm_column *column, const json_t *row,
                      const struct slurm_view *v);

/*
 * Sorts rows by letters such as "P,t,-p": numbers by value, other cells as text; '-' reverses.
 * `rank` (may be NULL) gives the numbers of a column; false: the texts count. The order of equal
 * rows stays. ERR_INVALID: an unknown letter.
 */
typedef bool (*slurm_rank_fn)(const struct slurm_column *column, const json_t *row, int64_t *ret);
struct err *slurm_rows_sort(json_t *rows, const char *spec, const struct slurm_column *columns,
                            const struct slurm_view *v, slurm_rank_fn rank) MUST_CHECK;
