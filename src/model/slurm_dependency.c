/* slurm_dependency.c - reading and writing dependencies of Slurm jobs */

#include "model/slurm_dependency.h"

#include <inttypes.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"

static const char *const words[] = {
    [SLURM_AFTER] = "after",          [SLURM_AFTER_ANY] = "afterany",
    [SLURM_AFTER_OK] = "afterok",     [SLURM_AFTER_NOT_OK] = "afternotok",
    [SLURM_AFTER_CORR] = "aftercorr", [SLURM_AFTER_BURST_BUFFER] = "afterburstbuffer",
    [SLURM_SINGLETON] = "singleton",
};

static struct err *dependency_read_type(struct str word, enum slurm_dependency_type *ret)
{
    for (size_t i = 0; i < COUNT(words); i++)
        if (word.size == strlen(words[i]) && strncasecmp(word.at, words[i], word.size) == 0) {
            *ret = (enum slurm_dependency_type)i;
            return NULL;
        }
    return err_new(ERR_INVALID,
                   "'" STR_FMT "' is not one of after, afterany, afterok, afternotok, aftercorr, "
                   "afterburstbuffer, singleton",
                   STR_ARG(word));
}

/* Reads ID, ID_INDEX, ID_*, and for SLURM_AFTER also ID+MINUTES. As with Slurm, whose manual says
 * otherwise, the minutes of an id hold for the ids behind it that have none. */
static struct err *dependency_read_id(struct str text, struct slurm_dependency_item *item)
{
    struct str minutes = text;
    struct str index = str_cut(&minutes, '+');
    struct str id = str_cut(&index, '_');

    item->index = -1;
    TRY(num_parse_int64(id, 1, UINT32_MAX, &item->id));
    if (index.at && !str_equal(index, STR("*")))
        TRY(num_parse_int64(index, 0, UINT32_MAX, &item->index));
    if (!minutes.at)
        return NULL;
    if (item->type != SLURM_AFTER)
        return err_new(ERR_INVALID, "'" STR_FMT "': minutes follow ids of 'after' only",
                       STR_ARG(text));
    return num_parse_int64(minutes, 1, INT32_MAX, &item->minutes);
}

/* An item that is there already counts once, with its first minutes. */
static struct err *dependency_add(struct slurm_dependency *d, struct slurm_dependency_item item)
{
    VEC_EACH (&d->items, one)
        if (one->type == item.type && one->id == item.id && one->index == item.index)
            return NULL;
    if (d->items.n >= SLURM_DEPENDENCY_MAX)
        return err_new(ERR_INVALID, "more than %d items", SLURM_DEPENDENCY_MAX);
    vec_add(&d->items, item);
    return NULL;
}

/* Reads TYPE:ID[:ID...], "singleton", or an id alone. */
static struct err *dependency_read_part(struct str part, struct slurm_dependency *d)
{
    struct slurm_dependency_item item = {.type = SLURM_AFTER_ANY, .index = -1};
    struct str ids = part;
    struct str word = str_cut(&ids, ':');

    if (!ids.at && word.size > 0 && *word.at >= '0' && *word.at <= '9') {
        TRY(dependency_read_id(word, &item));
        return dependency_add(d, item);
    }
    TRY(dependency_read_type(word, &item.type));
    if (item.type == SLURM_SINGLETON)
        return ids.at ? err_new(ERR_INVALID, "singleton has no ids") : dependency_add(d, item);
    if (!ids.at)
        return err_new(ERR_INVALID, "'" STR_FMT "': want TYPE:ID[:ID...]", STR_ARG(word));
    while (ids.at) {
        TRY(dependency_read_id(str_cut(&ids, ':'), &item));
        TRY(dependency_add(d, item));
    }
    return NULL;
}

static struct err *dependency_read(struct str text, struct slurm_dependency *d)
{
    bool has_all = memchr(text.at, ',', text.size);

    d->is_any = memchr(text.at, '?', text.size);
    if (has_all && d->is_any)
        return err_new(ERR_INVALID, "',' (all) and '?' (any) cannot be mixed");
    while (text.at)
        TRY(dependency_read_part(str_cut(&text, d->is_any ? '?' : ','), d));
    return NULL;
}

struct err *slurm_dependency_parse(struct str text, struct slurm_dependency *ret)
{
    struct slurm_dependency d = {0};
    struct err *e;

    if (text.size == 0 || str_equal(text, STR("0")))
        return NULL;
    e = dependency_read(text, &d);
    if (e) {
        slurm_dependency_done(&d);
        return err_wrap(e, "dependency");
    }
    *ret = d;
    return NULL;
}

static void dependency_add_id(const struct slurm_dependency_item *item, struct buf *out)
{
    if (item->type == SLURM_SINGLETON)
        return;
    buf_printf(out, ":%" PRId64, item->id);
    if (item->index >= 0)
        buf_printf(out, "_%" PRId64, item->index);
    if (item->minutes > 0)
        buf_printf(out, "+%" PRId64, item->minutes);
}

void slurm_dependency_format_item(const struct slurm_dependency_item *item, struct buf *out)
{
    buf_add_text(out, words[item->type]);
    dependency_add_id(item, out);
}

char *slurm_dependency_format(const struct slurm_dependency *d)
{
    struct buf out = {0};

    for (size_t i = 0; i < d->items.n; i++) {
        const struct slurm_dependency_item *item = &d->items.at[i];
        bool is_joined =
            i > 0 && d->items.at[i - 1].type == item->type && item->type != SLURM_SINGLETON;

        if (!is_joined) {
            if (i > 0)
                buf_add_char(&out, d->is_any ? '?' : ',');
            buf_add_text(&out, words[item->type]);
        }
        dependency_add_id(item, &out);
    }
    return buf_steal(&out);
}

void slurm_dependency_done(struct slurm_dependency *d)
{
    vec_done(&d->items);
    d->is_any = false;
}
