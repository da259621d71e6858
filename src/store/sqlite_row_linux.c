/*
 * sqlite_row_linux.c - rows read, checked and bound
 *
 * SQLite numbers columns from 0 when they are read, and from 1 when they are bound.
 */

#include "store/sqlite_row_linux.h"

#include <inttypes.h>
#include <string.h>

#include "store/checksum.h"
#include "store/object.h"

enum {
    TYPE_BITS = 2 /* bits of the column `type` for the type; the bits above are row_behind */
};

_Static_assert(STORE_TXN_OPS_MAX <= UINT16_MAX + 1, "an ordinal fits in its type");

int64_t sqlite_row_revision(int64_t id)
{
    return id >> STORAGE_PLACE_BITS;
}

static int64_t row_type(const struct sqlite_row *r)
{
    return r->type & ((1 << TYPE_BITS) - 1);
}

/* The revision of the row's id minus the transaction's revision. */
static int64_t row_behind(const struct sqlite_row *r)
{
    return r->type >> TYPE_BITS;
}

static uint64_t row_sum(const struct sqlite_row *r)
{
    const char *const texts[] = {r->key.group, r->key.resource, r->key.ns, r->key.name};
    uint64_t sum = CHECKSUM_START;

    sum = checksum_add_int64(sum, r->id);
    sum = checksum_add_int64(sum, r->type);
    sum = checksum_add_int64(sum, r->before);
    sum = checksum_add_int64(sum, r->created);
    for (size_t i = 0; i < COUNT(texts); i++)
        sum = checksum_add(sum, texts[i], strlen(texts[i]));
    return checksum_add(sum, r->bytes.at, r->bytes.size);
}

int64_t sqlite_row_sum(const struct sqlite_row *row)
{
    return (int64_t)row_sum(row);
}

void sqlite_row_bound(const struct sqlite_row *row, struct buf *ret)
{
    const char *const texts[] = {row->key.group, row->key.resource, row->key.ns, row->key.name};

    buf_printf(ret, "%" PRId64, row->id);
    for (size_t i = 0; i < COUNT(texts); i++)
        buf_printf(ret, "\n%s", texts[i]);
}

/* The column's text; NULL if it is no text or contains a NUL. Valid until the next step. */
static const char *column_text(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);

    return text && strlen(text) == (size_t)sqlite3_column_bytes(s, column) ? text : NULL;
}

struct err *sqlite_row_read(sqlite3_stmt *s, struct sqlite_row *ret)
{
    struct sqlite_row r = {.id = sqlite3_column_int64(s, 0),
                           .type = sqlite3_column_int64(s, 1),
                           .before = sqlite3_column_int64(s, 2),
                           .created = sqlite3_column_int64(s, 3)};

    r.key.group = column_text(s, 4);
    r.key.resource = column_text(s, 5);
    r.key.ns = column_text(s, 6);
    r.key.name = column_text(s, 7);
    r.bytes.at = sqlite3_column_blob(s, 8); /* NULL for no bytes */
    r.bytes.size = (size_t)sqlite3_column_bytes(s, 8);
    if (!r.key.group || !r.key.resource || !r.key.ns || !r.key.name ||
        (int64_t)row_sum(&r) != sqlite3_column_int64(s, 9))
        return err_new(ERR_INTERNAL, "change %" PRId64 " has a wrong checksum", r.id);
    if (r.id <= 0 || r.before < 0 || r.before >= r.id || r.type < 0 ||
        row_type(&r) > STORE_DELETED ||
        row_behind(&r) > storage_extra_revisions(STORE_TXN_OPS_MAX) ||
        row_behind(&r) >= sqlite_row_revision(r.id))
        return err_new(ERR_INTERNAL, "change %" PRId64 " is malformed", r.id);
    *ret = r;
    return NULL;
}

struct err *sqlite_row_load(const struct sqlite_row *row, storage_load_fn fn, void *arg)
{
    struct store_object *o = object_new(&row->key, row->bytes);
    struct err *e;
    struct storage_record record = {.revision = sqlite_row_revision(row->id) - row_behind(row),
                                    .type = (enum store_change_type)row_type(row),
                                    .object = o,
                                    .before_place = row->before};

    record.ordinal =
        (uint16_t)(row->id - storage_place(record.revision, 0)); /* was checked when read */
    o->version = record.revision;
    o->ordinal = record.ordinal;
    o->created_revision = row->created;
    e = fn(arg, &record);
    store_object_unref(o);
    return e;
}

struct sqlite_row sqlite_row_of(const struct storage_record *record)
{
    const struct store_object *o = record->object;
    int64_t behind = record->ordinal >> STORAGE_PLACE_BITS;
    struct sqlite_row row = {.id = storage_place(record->revision, record->ordinal),
                             .type = (int64_t)record->type | behind << TYPE_BITS,
                             .created = o->created_revision,
                             .key = o->key,
                             .bytes = STR("")};

    if (record->before)
        row.before = storage_place(record->before->version, record->before->ordinal);
    if (record->type != STORE_DELETED)
        row.bytes = o->bytes;
    return row;
}

static int bind_text(sqlite3_stmt *s, int column, const char *text)
{
    return sqlite3_bind_text(s, column, text, (int)strlen(text), SQLITE_STATIC);
}

int sqlite_row_bind(sqlite3_stmt *s, const struct sqlite_row *r)
{
    int rc = sqlite3_bind_int64(s, 1, r->id);

    rc = rc ? rc : sqlite3_bind_int64(s, 2, r->type);
    rc = rc ? rc : sqlite3_bind_int64(s, 3, r->before);
    rc = rc ? rc : sqlite3_bind_int64(s, 4, r->created);
    rc = rc ? rc : bind_text(s, 5, r->key.group);
    rc = rc ? rc : bind_text(s, 6, r->key.resource);
    rc = rc ? rc : bind_text(s, 7, r->key.ns);
    rc = rc ? rc : bind_text(s, 8, r->key.name);
    rc = rc ? rc : sqlite3_bind_blob(s, 9, r->bytes.at, (int)r->bytes.size, SQLITE_STATIC);
    return rc ? rc : sqlite3_bind_int64(s, 10, (int64_t)row_sum(r));
}
