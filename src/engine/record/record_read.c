/* record_read.c - the parser of recorded lines */

#include <inttypes.h>

#include "base/num.h"
#include "engine/record/record.h"

/* A line and the place in it. */
struct record_reader {
    struct arena *arena;
    struct str line;
    size_t at;
};

static struct err *read_type(struct record_reader *r, const struct record_type *type, char end,
                             char *to);

static char peek(const struct record_reader *r)
{
    if (r->at < r->line.size)
        return r->line.at[r->at];
    return '\0';
}

static struct err *wrong(const struct record_reader *r, const char *want)
{
    return err_new(ERR_INVALID, "want %s at byte %zu", want, r->at);
}

static struct err *read_char(struct record_reader *r, char c)
{
    const char want[] = {'\'', c, '\'', '\0'};

    if (r->at >= r->line.size || r->line.at[r->at] != c)
        return wrong(r, want);
    r->at++;
    return NULL;
}

/* Up to one of " =]}" or the end. */
static struct str read_word(struct record_reader *r)
{
    const size_t first = r->at;

    while (r->at < r->line.size && !strchr(" =]}", r->line.at[r->at]))
        r->at++;
    return (struct str){r->line.at + first, r->at - first};
}

static struct err *read_escape(struct record_reader *r, char *ret)
{
    uint64_t value = 0;

    r->at++;
    if (peek(r) == '"' || peek(r) == '\\') {
        *ret = r->line.at[r->at++];
        return NULL;
    }
    if (peek(r) != 'x' || r->line.size - r->at < 3)
        return wrong(r, "\\\\, \\\" or \\xHH");
    TRY(num_parse_hex((struct str){r->line.at + r->at + 1, 2}, &value));
    if (value == 0)
        return wrong(r, "a byte that is not 0");
    r->at += 3;
    *ret = (char)value;
    return NULL;
}

static struct err *read_text(struct record_reader *r, const char **ret)
{
    size_t room = 0;
    size_t n = 0;
    char *text;

    TRY(read_char(r, '"'));
    while (r->at + room < r->line.size && r->line.at[r->at + room] != '"')
        room += r->line.at[r->at + room] == '\\' ? 2 : 1;
    text = arena_alloc(r->arena, room + 1); /* the text is at most as long as written */
    while (peek(r) != '"' && r->at < r->line.size) {
        if (peek(r) == '\\')
            TRY(read_escape(r, &text[n++]));
        else
            text[n++] = r->line.at[r->at++];
    }
    TRY(read_char(r, '"'));
    *ret = text;
    return NULL;
}

static struct err *read_signed(struct record_reader *r, uint32_t size, char *to)
{
    const bool is_wide = size == sizeof(int64_t);
    int64_t wide = 0;
    int32_t narrow;

    TRY(num_parse_int64(read_word(r), is_wide ? INT64_MIN : INT32_MIN,
                        is_wide ? INT64_MAX : INT32_MAX, &wide));
    narrow = (int32_t)wide;
    if (is_wide)
        memcpy(to, &wide, sizeof(wide));
    else
        memcpy(to, &narrow, sizeof(narrow));
    return NULL;
}

static struct err *read_unsigned(struct record_reader *r, uint32_t size, char *to)
{
    const bool is_wide = size == sizeof(uint64_t);
    uint64_t wide = 0;
    uint32_t narrow;

    TRY(num_parse_uint64(read_word(r), is_wide ? UINT64_MAX : UINT32_MAX, &wide));
    narrow = (uint32_t)wide;
    if (is_wide)
        memcpy(to, &wide, sizeof(wide));
    else
        memcpy(to, &narrow, sizeof(narrow));
    return NULL;
}

static struct err *read_element(struct record_reader *r, const struct record_field *f, char *to)
{
    if (f->kind == RECORD_LIST) {
        TRY(read_char(r, '{'));
        return read_type(r, f->type, '}', to);
    }
    if (f->kind == RECORD_TEXTS)
        return read_text(r, (const char **)(void *)to);
    return read_signed(r, f->size, to);
}

/* Reads the elements of a list, into an array that doubles. */
static struct err *read_elements(struct record_reader *r, const struct record_field *f, char **ret,
                                 size_t *ret_count)
{
    size_t room = 4;
    char *all = arena_alloc(r->arena, room * f->size);
    size_t n = 0;

    TRY(read_char(r, '['));
    for (; peek(r) != ']'; n++) {
        if (n > 0)
            TRY(read_char(r, ' '));
        if (n == room) {
            char *more = arena_alloc(r->arena, 2 * room * f->size);

            memcpy(more, all, room * f->size);
            all = more;
            room *= 2;
        }
        TRY(read_element(r, f, all + n * f->size));
    }
    r->at++;
    *ret = all;
    *ret_count = n;
    return NULL;
}

static struct err *read_list(struct record_reader *r, const struct record_field *f, char *to)
{
    char *all = NULL;
    size_t n = 0;

    TRY(read_elements(r, f, &all, &n));
    if (f->kind == RECORD_TABLE) { /* its count was read with another list */
        size_t steps = 0;

        memcpy(&steps, to + f->count, sizeof(steps));
        if (steps > METE_VALUES_CPU_MAX || n != METE_VALUES_SIZE(steps))
            return err_new(ERR_INVALID, "%s has %zu numbers: want as many as %zu steps need",
                           f->name, n, steps);
    } else {
        memcpy(to + f->count, &n, sizeof(n));
    }
    memcpy(to + f->offset, &all, sizeof(all));
    return NULL;
}

static struct err *read_one(struct record_reader *r, const struct record_field *f, char *to)
{
    char *one = arena_alloc(r->arena, f->type->size);

    TRY(read_char(r, '{'));
    TRY(read_type(r, f->type, '}', one));
    memcpy(to + f->offset, &one, sizeof(one));
    return NULL;
}

static struct err *read_bool(struct record_reader *r, bool *to)
{
    TRY(read_char(r, '1'));
    *to = true;
    return NULL;
}

static struct err *read_value(struct record_reader *r, const struct record_field *f, char *to)
{
    char *here = to + f->offset;

    switch (f->kind) {
    case RECORD_BOOL:
        return read_bool(r, (bool *)(void *)here);
    case RECORD_INT:
        return read_signed(r, f->size, here);
    case RECORD_UINT:
        return read_unsigned(r, f->size, here);
    case RECORD_TEXT:
        return read_text(r, (const char **)(void *)here);
    case RECORD_STRUCT:
        TRY(read_char(r, '{'));
        return read_type(r, f->type, '}', here);
    case RECORD_ONE:
        return read_one(r, f, to);
    case RECORD_LIST:
    case RECORD_TEXTS:
    case RECORD_NUMBERS:
    case RECORD_TABLE:
        break;
    }
    return read_list(r, f, to);
}

/* Finds a member by name. Members come in the order of the table, so that no member comes twice. */
static struct err *find_field(const struct record_reader *r, const struct record_type *type,
                              struct str name, size_t *at)
{
    for (; *at < type->n_fields; ++*at)
        if (str_equal(name, str_of(type->fields[*at].name)))
            return NULL;
    return err_new(ERR_INVALID, "'%.*s' at byte %zu is an unknown member, or out of order",
                   name.size > 64 ? 64 : (int)name.size, name.at, r->at - name.size);
}

/* Reads members up to `end`, and that; '\0': up to the end of the line. */
static struct err *read_type(struct record_reader *r, const struct record_type *type, char end,
                             char *to)
{
    size_t at = 0;

    for (bool is_first = true; r->at < r->line.size && peek(r) != end; is_first = false, at++) {
        struct err *e;

        if (!is_first)
            TRY(read_char(r, ' '));
        TRY(find_field(r, type, read_word(r), &at));
        TRY(read_char(r, '='));
        e = read_value(r, &type->fields[at], to);
        if (e)
            return err_wrap(e, "%s", type->fields[at].name);
    }
    return end == '\0' ? NULL : read_char(r, end);
}

struct err *record_line_parse(struct arena *a, struct str line, enum record_call *ret_call,
                              void **ret)
{
    struct record_reader r = {.arena = a, .line = line};
    struct str name = read_word(&r);

    if (memchr(line.at, '\0', line.size))
        return err_new(ERR_INVALID, "the line has a byte 0");
    for (size_t i = 0; i < RECORD_CALLS; i++) {
        struct err *e;
        char *args;

        if (!str_equal(name, str_of(record_call_names[i])))
            continue;
        args = arena_alloc(a, record_call_types[i]->size);
        if (peek(&r) == ' ')
            r.at++;
        e = read_type(&r, record_call_types[i], '\0', args);
        if (e)
            return err_wrap(e, "%s", record_call_names[i]);
        *ret_call = (enum record_call)i;
        *ret = args;
        return NULL;
    }
    return err_new(ERR_INVALID, "'%.*s' is no call of the engine",
                   name.size > 64 ? 64 : (int)name.size, name.at);
}
