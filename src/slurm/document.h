/*
 * document.h - the documents of --json, --yaml and slurmrestd, and tables of their members
 *
 * Members have the names and forms of Slurm 24.11's data parser v0.0.42; v0.0.43 and v0.0.44 have
 * them, too. https://slurm.schedmd.com/rest_api.html
 */
#pragma once

#include "base/json.h"

enum member_form {
    MEMBER_TEXT,    /* a text; absent: "" */
    MEMBER_NUMBER,  /* N; absent: 0 */
    MEMBER_VALUE,   /* {"set", "infinite", "number"}; absent: not set; below 0: infinite */
    MEMBER_FACTOR,  /* the same of a text such as "0.5" */
    MEMBER_BOOL,    /* absent: false */
    MEMBER_WORDS,   /* an array of texts, of a text with commas or of an array */
    MEMBER_LIST,    /* the array itself; absent: [] */
    MEMBER_TRES,    /* an array of {"type", "name", "id", "count"}, of a text "cpu=1,mem=4G" */
    MEMBER_CONSTANT /* the text `key` */
};

/* A member of a document: slashes in `path` are objects, "time/limit". */
struct member {
    const char *path;
    const char *key; /* of the row; NULL: Mete does not know the value, which is absent */
    enum member_form form;
};

/* Sets the members of `to`; the table ends with a NULL path. */
void members_put(json_t *to, const json_t *row, const struct member *members);

/* Sets one member to `value`, which is taken. */
void member_put(json_t *to, const char *path, json_t *value);

/* {set, infinite, number}: below 0 is infinite; `is_set` false: not set. New reference. */
json_t *slurm_number(bool is_set, int64_t n);

/* The words of a text with commas. New reference. */
json_t *slurm_words_array(const char *text);

/* The list of {"type", "name", "id", "count"} of "cpu=1,mem=4G,gres/gpu=2"; memory is in MiB. New
 * reference. */
json_t *slurm_tres_array(const char *text);

/* The number that Slurm's database gives a resource ("cpu": 1); from 1001 on: of the site. */
int64_t slurm_tres_id(const char *name);

/* A document with "meta", "errors" and "warnings" around `member`, whose `value` is taken. New
 * reference. */
json_t *slurm_document_new(const char *member, json_t *value);

/* Adds the document as text. */
void slurm_document_add(const json_t *document, bool is_yaml, struct buf *out);
