/* selector.c - label and field selectors: grammar and matching */

#include "model/selector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "model/names.h"

enum {
    REQUIREMENTS_MAX = 256,
    VALUES_MAX = 1024,
    SHOWN_MAX = 64
};

enum operation {
    IS_ONE_OF,
    IS_NONE_OF,
    EXISTS,
    IS_ABSENT,
    IS_ABOVE,
    IS_BELOW
};

struct requirement {
    char *key;
    enum operation operation;
    VEC(char *) values; /* sorted, once all have been read */
    int64_t number;     /* IS_ABOVE, IS_BELOW */
};

struct selector {
    VEC(struct requirement) all; /* all must hold */
    size_t n_values;
};

struct selector_reader {
    struct str text; /* the whole text, for messages */
    struct str rest;
};

static struct selector *selector_new(void)
{
    return mem_alloc(sizeof(struct selector));
}

void selector_free(struct selector *s)
{
    if (!s)
        return;
    VEC_EACH (&s->all, r) {
        VEC_EACH (&r->values, value) {
            free(*value);
        }
        vec_done(&r->values);
        free(r->key);
    }
    vec_done(&s->all);
    free(s);
}

static struct err *unparsable(const struct selector_reader *r, const char *want)
{
    size_t size = r->rest.size < SHOWN_MAX ? r->rest.size : SHOWN_MAX;

    return err_new(ERR_BAD_REQUEST,
                   "unable to parse requirement: found '%.*s' at byte %zu, want %s", (int)size,
                   r->rest.at, r->text.size - r->rest.size, want);
}

static void skip(struct selector_reader *r, size_t size)
{
    r->rest = (struct str){r->rest.at + size, r->rest.size - size};
}

static void skip_blanks(struct selector_reader *r)
{
    while (r->rest.size > 0 && strchr(" \t\r\n", r->rest.at[0]) && r->rest.at[0])
        skip(r, 1);
}

static bool read_char(struct selector_reader *r, char c)
{
    skip_blanks(r);
    if (r->rest.size == 0 || r->rest.at[0] != c)
        return false;
    skip(r, 1);
    return true;
}

/* Reads up to a blank or a sign; the word may be empty. */
static struct str read_word(struct selector_reader *r)
{
    struct str word;

    skip_blanks(r);
    word.at = r->rest.at;
    while (r->rest.size > 0 && (r->rest.at[0] == '\0' || !strchr(" \t\r\n()!,=<>", r->rest.at[0])))
        skip(r, 1);
    word.size = (size_t)(r->rest.at - word.at);
    return word;
}

static struct err *add_requirement(struct selector *s, struct str key, enum operation operation)
{
    if (s->all.n == REQUIREMENTS_MAX)
        return err_new(ERR_BAD_REQUEST, "selector: more than %d requirements", REQUIREMENTS_MAX);
    vec_add(&s->all,
            (struct requirement){.key = mem_strndup(key.at, key.size), .operation = operation});
    return NULL;
}

static struct requirement *last_requirement(struct selector *s)
{
    return &s->all.at[s->all.n - 1];
}

/* Adds a value to the last requirement. Takes `value`. */
static struct err *add_value(struct selector *s, char *value)
{
    if (s->n_values == VALUES_MAX) {
        free(value);
        return err_new(ERR_BAD_REQUEST, "selector: more than %d values", VALUES_MAX);
    }
    s->n_values++;
    vec_add(&last_requirement(s)->values, value);
    return NULL;
}

static struct err *as_bad_request(struct err *cause, const char *what, const char *text)
{
    AUTO(err_freep) struct err *e = cause;

    if (!e)
        return NULL;
    return err_new(ERR_BAD_REQUEST, "unable to parse requirement: %s: Invalid value: \"%.*s\": %s",
                   what, SHOWN_MAX, text, err_message(e));
}

/* Refuses NUL bytes, which would end a name early. */
static struct err *check_no_nul(const struct selector_reader *r)
{
    if (r->text.size > 0 && memchr(r->text.at, '\0', r->text.size))
        return err_new(ERR_BAD_REQUEST, "selector: a NUL byte");
    return NULL;
}

static struct err *read_label_value(struct selector_reader *r, struct selector *s)
{
    struct str word = read_word(r);
    char *value = mem_strndup(word.at ? word.at : "", word.size);
    struct err *e = as_bad_request(name_check_label_value(value), "values", value);

    if (e) {
        free(value);
        return e;
    }
    return add_value(s, value);
}

static struct err *read_value_set(struct selector_reader *r, struct selector *s)
{
    if (!read_char(r, '('))
        return unparsable(r, "'('");
    if (read_char(r, ')'))
        return err_new(ERR_BAD_REQUEST, "unable to parse requirement: values: Invalid value: []: "
                                        "for 'in', 'notin' operators, values set can't be empty");
    do {
        TRY(read_label_value(r, s));
    } while (read_char(r, ','));
    if (!read_char(r, ')'))
        return unparsable(r, "',' or ')'");
    return NULL;
}

static struct err *selector_read_number(struct selector_reader *r, struct selector *s)
{
    struct str word = read_word(r);
    struct err *e = num_parse_int64(word, INT64_MIN, INT64_MAX, &last_requirement(s)->number);

    if (!e)
        return NULL;
    err_free(e);
    return err_new(ERR_BAD_REQUEST,
                   "unable to parse requirement: values[0]: Invalid value: \"%.*s\": for 'Gt', "
                   "'Lt' operators, the value must be an integer",
                   word.size < SHOWN_MAX ? (int)word.size : SHOWN_MAX, word.at);
}

/* Reads the operation and values after the key. */
static struct err *read_operation(struct selector_reader *r, struct selector *s)
{
    struct requirement *last = last_requirement(s);
    struct str word;

    if (read_char(r, '=')) {
        (void)read_char(r, '=');
        last->operation = IS_ONE_OF;
        return read_label_value(r, s);
    }
    if (read_char(r, '!')) {
        last->operation = IS_NONE_OF;
        return read_char(r, '=') ? read_label_value(r, s) : unparsable(r, "'!='");
    }
    if (read_char(r, '>')) {
        last->operation = IS_ABOVE;
        return selector_read_number(r, s);
    }
    if (read_char(r, '<')) {
        last->operation = IS_BELOW;
        return selector_read_number(r, s);
    }
    word = read_word(r);
    if (word.size == 0)
        return NULL;
    last->operation = str_equal(word, STR("notin")) ? IS_NONE_OF : IS_ONE_OF;
    if (!str_equal(word, STR("in")) && !str_equal(word, STR("notin")))
        return err_new(ERR_BAD_REQUEST,
                       "unable to parse requirement: found '%.*s', want one of: in, notin, =, ==, "
                       "!=, >, <",
                       word.size < SHOWN_MAX ? (int)word.size : SHOWN_MAX, word.at);
    return read_value_set(r, s);
}

static struct err *read_requirement(struct selector_reader *r, struct selector *s)
{
    bool is_absent = read_char(r, '!');
    struct str key = read_word(r);

    if (key.size == 0)
        return unparsable(r, "a label key");
    TRY(add_requirement(s, key, is_absent ? IS_ABSENT : EXISTS));
    TRY(as_bad_request(name_check_qualified(last_requirement(s)->key), "key",
                       last_requirement(s)->key));
    return is_absent ? NULL : read_operation(r, s);
}

static int compare_values(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A set is searched for each object of a list. */
static void sort_values(struct selector *s)
{
    VEC_EACH (&s->all, r) {
        if (r->values.n > 1)
            qsort(r->values.at, r->values.n, sizeof(*r->values.at), compare_values);
    }
}

struct err *selector_parse_labels(struct str text, struct selector **ret)
{
    struct selector_reader r = {.text = text, .rest = text};
    AUTO(selector_freep) struct selector *s = selector_new();

    TRY(check_no_nul(&r));
    skip_blanks(&r);
    while (r.rest.size > 0) {
        TRY(read_requirement(&r, s));
        if (read_char(&r, ',')) {
            skip_blanks(&r);
            if (r.rest.size == 0)
                return unparsable(&r, "a label key");
        } else if (r.rest.size > 0) {
            return unparsable(&r, "',' or the end");
        }
    }
    sort_values(s);
    *ret = TAKE(s);
    return NULL;
}

/* Cuts a term off, up to an unescaped ','. Escapes stay in it. */
static struct str cut_term(struct str *rest)
{
    struct str term = {.at = rest->at};

    while (term.size < rest->size && term.at[term.size] != ',')
        term.size += term.at[term.size] == '\\' && term.size + 1 < rest->size ? 2 : 1;
    *rest = (struct str){rest->at + term.size, rest->size - term.size};
    if (rest->size > 0)
        *rest = (struct str){rest->at + 1, rest->size - 1};
    return term;
}

static struct err *selector_unescape(struct str text, char **ret)
{
    struct buf out = {0};

    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] == '\\') {
            i++;
            if (i == text.size || !strchr(",=\\", text.at[i])) {
                buf_done(&out);
                return err_new(ERR_BAD_REQUEST,
                               "field selector: '\\' escapes only ',', '=' and '\\'");
            }
        }
        buf_add_char(&out, text.at[i]);
    }
    *ret = buf_steal(&out);
    return NULL;
}

static struct err *read_field_term(struct selector *s, struct str term)
{
    size_t at = 0;
    bool is_not;
    struct str value;
    char *text = NULL;

    while (at < term.size && term.at[at] != '=' && term.at[at] != '!')
        at++;
    is_not = at < term.size && term.at[at] == '!';
    if (at == 0 || at + is_not >= term.size || term.at[at + is_not] != '=')
        return err_new(ERR_BAD_REQUEST,
                       "invalid selector: '%.*s'; can't understand it: want path=value, "
                       "path==value or path!=value",
                       term.size < SHOWN_MAX ? (int)term.size : SHOWN_MAX, term.at);
    TRY(add_requirement(s, (struct str){term.at, at}, is_not ? IS_NONE_OF : IS_ONE_OF));
    value = (struct str){term.at + at + is_not + 1, term.size - at - is_not - 1};
    if (!is_not && value.size > 0 && value.at[0] == '=')
        value = (struct str){value.at + 1, value.size - 1};
    TRY(selector_unescape(value, &text));
    return add_value(s, text);
}

struct err *selector_parse_fields(struct str text, struct selector **ret)
{
    struct selector_reader r = {.text = text, .rest = text};
    AUTO(selector_freep) struct selector *s = selector_new();

    TRY(check_no_nul(&r));
    while (r.rest.size > 0) {
        struct str term = cut_term(&r.rest);

        if (term.size > 0)
            TRY(read_field_term(s, term));
    }
    *ret = TAKE(s);
    return NULL;
}

static bool is_one_of_values(const struct requirement *r, const char *value)
{
    return value && r->values.n > 0 &&
           bsearch(&value, r->values.at, r->values.n, sizeof(*r->values.at), compare_values);
}

static bool compare_number(const struct requirement *r, const char *value)
{
    int64_t number = 0;
    struct err *e;

    if (!value)
        return false;
    e = num_parse_int64(str_of(value), INT64_MIN, INT64_MAX, &number);
    if (e) {
        err_free(e);
        return false;
    }
    return r->operation == IS_ABOVE ? number > r->number : number < r->number;
}

static bool requirement_holds(const struct requirement *r, const char *value)
{
    switch (r->operation) {
    case IS_ONE_OF:
        return is_one_of_values(r, value);
    case IS_NONE_OF:
        return !is_one_of_values(r, value);
    case EXISTS:
        return value != NULL;
    case IS_ABSENT:
        return value == NULL;
    case IS_ABOVE:
    case IS_BELOW:
        return compare_number(r, value);
    }
    return false;
}

bool selector_matches(const struct selector *s, selector_get_fn get, const void *object)
{
    for (size_t i = 0; i < s->all.n; i++)
        if (!requirement_holds(&s->all.at[i], get(object, s->all.at[i].key)))
            return false;
    return true;
}

struct err *selector_each_key(const struct selector *s,
                              struct err *(*fn)(void *arg, const char *key), void *arg)
{
    for (size_t i = 0; i < s->all.n; i++)
        TRY(fn(arg, s->all.at[i].key));
    return NULL;
}
