/* record.c - the writing of recorded lines */

#include "engine/record/record.h"

#include <assert.h>
#include <inttypes.h>

#include "engine/state.h"

static void add_type(struct buf *out, const struct record_type *type, const char *at);

/* NULL is written as "", which the engine refuses alike. */
static void add_text(struct buf *out, const char *text)
{
    buf_add_char(out, '"');
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_printf(out, "\\%c", *c);
        else if ((unsigned char)*c < ' ' || *c == 0x7f)
            buf_printf(out, "\\x%02x", (unsigned char)*c);
        else
            buf_add_char(out, *c);
    }
    buf_add_char(out, '"');
}

static int64_t signed_at(const char *at, uint32_t size)
{
    int64_t wide = 0;
    int32_t narrow = 0;

    if (size == sizeof(wide)) {
        memcpy(&wide, at, sizeof(wide));
        return wide;
    }
    assert(size == sizeof(narrow));
    memcpy(&narrow, at, sizeof(narrow));
    return narrow;
}

static uint64_t unsigned_at(const char *at, uint32_t size)
{
    return size == sizeof(uint32_t) ? (uint32_t)signed_at(at, size) : (uint64_t)signed_at(at, size);
}

static const char *pointer_at(const char *at)
{
    const char *ret = NULL;

    memcpy(&ret, at, sizeof(ret)); /* all object pointers have one representation here */
    return ret;
}

static size_t count_of(const struct record_field *f, const char *at)
{
    size_t n = 0;

    memcpy(&n, at + f->count, sizeof(n));
    return f->kind == RECORD_TABLE ? METE_VALUES_SIZE(n) : n;
}

static void add_list(struct buf *out, const struct record_field *f, const char *at, size_t n)
{
    const char *first = pointer_at(at + f->offset);

    buf_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        const char *each = first + i * f->size;

        if (i > 0)
            buf_add_char(out, ' ');
        if (f->kind == RECORD_LIST)
            add_type(out, f->type, each);
        else if (f->kind == RECORD_TEXTS)
            add_text(out, pointer_at(each));
        else
            buf_printf(out, "%" PRId64, signed_at(each, f->size));
    }
    buf_add_char(out, ']');
}

static bool is_zero(const struct record_type *type, const char *at);

static bool is_none(const struct record_field *f, const char *at)
{
    switch (f->kind) {
    case RECORD_BOOL:
        return !*(const bool *)(const void *)(at + f->offset);
    case RECORD_INT:
    case RECORD_UINT:
        return signed_at(at + f->offset, f->size) == 0;
    case RECORD_STRUCT:
        return is_zero(f->type, at + f->offset);
    case RECORD_TEXT:
    case RECORD_ONE:
        return pointer_at(at + f->offset) == NULL;
    case RECORD_LIST:
    case RECORD_TEXTS:
    case RECORD_NUMBERS:
    case RECORD_TABLE:
        break;
    }
    return count_of(f, at) == 0;
}

static bool is_zero(const struct record_type *type, const char *at)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (!is_none(&type->fields[i], at))
            return false;
    return true;
}

static void add_value(struct buf *out, const struct record_field *f, const char *at)
{
    const char *here = at + f->offset;

    switch (f->kind) {
    case RECORD_BOOL:
        buf_add_char(out, '1');
        return;
    case RECORD_INT:
        buf_printf(out, "%" PRId64, signed_at(here, f->size));
        return;
    case RECORD_UINT:
        buf_printf(out, "%" PRIu64, unsigned_at(here, f->size));
        return;
    case RECORD_TEXT:
        add_text(out, pointer_at(here));
        return;
    case RECORD_STRUCT:
        add_type(out, f->type, here);
        return;
    case RECORD_ONE:
        add_type(out, f->type, pointer_at(here));
        return;
    case RECORD_LIST:
    case RECORD_TEXTS:
    case RECORD_NUMBERS:
    case RECORD_TABLE:
        add_list(out, f, at, count_of(f, at));
        return;
    }
}

static void add_fields(struct buf *out, const struct record_type *type, const char *at,
                       const char *before)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct record_field *f = &type->fields[i];

        if (is_none(f, at))
            continue;
        buf_printf(out, "%s%s=", before, f->name);
        add_value(out, f, at);
        before = " ";
    }
}

static void add_type(struct buf *out, const struct record_type *type, const char *at)
{
    buf_add_char(out, '{');
    add_fields(out, type, at, "");
    buf_add_char(out, '}');
}

void record_line_format(struct buf *out, enum record_call call, const void *args)
{
    buf_add_text(out, record_call_names[call]);
    add_fields(out, record_call_types[call], args, " ");
    buf_add_char(out, '\n');
}

void record_call(struct mete_engine *e, enum record_call call, const void *args)
{
    if (!e->record)
        return;
    buf_clear(&e->record_line);
    record_line_format(&e->record_line, call, args);
    e->record(e->record_arg, e->record_line.at, e->record_line.size);
}
