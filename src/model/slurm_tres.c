/* slurm_tres.c - lists of trackable resources */

#include "model/slurm_tres.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "model/slurm_amount.h"

enum {
    ITEMS_MAX = 64
};

/* In the order of Slurm's numbers. */
static const char *const first_names[] = {"cpu",     "mem",     "energy", "node",
                                          "billing", "fs/disk", "vmem",   "pages"};

static size_t tres_rank(const char *name)
{
    size_t i = 0;

    while (i < COUNT(first_names) && !text_equal(first_names[i], name))
        i++;
    return i;
}

static bool tres_is_known(const char *name)
{
    return tres_rank(name) < COUNT(first_names) ||
           (text_starts_with(name, "gres/") && strlen(name) > 5) ||
           (text_starts_with(name, "license/") && strlen(name) > 8);
}

static struct err *count_parse(const char *name, struct str text, int64_t *ret)
{
    static const char units[] = "KMGTP";
    const char *unit = text.size > 1 ? strchr(units, toupper(text.at[text.size - 1])) : NULL;
    int64_t n = 0;

    if (str_equal(text, STR("-1"))) {
        *ret = -1;
        return NULL;
    }
    if (text_equal(name, "mem"))
        return slurm_memory_parse(text, ret);
    TRY(num_parse_int64(unit ? (struct str){text.at, text.size - 1} : text, 0, INT64_MAX, &n));
    for (ptrdiff_t i = unit ? unit - units + 1 : 0; i > 0; i--)
        if (__builtin_mul_overflow(n, 1024, &n))
            return err_new(ERR_INVALID, "too large");
    *ret = n;
    return NULL;
}

static struct err *item_parse(struct str item, struct slurm_tres *t)
{
    struct str count = item;
    struct str name = str_cut(&count, '=');
    AUTO_FREE char *key = mem_strndup(name.at, name.size);
    int64_t n = 0;

    for (char *at = key; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if (!count.at || count.size == 0)
        return err_new(ERR_INVALID, "want NAME=COUNT, as in cpu=4");
    if (!tres_is_known(key))
        return err_new(ERR_INVALID, "unknown resource '%s'", key);
    if (t->items.n == ITEMS_MAX)
        return err_new(ERR_INVALID, "over %d resources", ITEMS_MAX);
    TRY(count_parse(key, count, &n));
    slurm_tres_set(t, key, n);
    return NULL;
}

struct err *slurm_tres_parse(struct str text, struct slurm_tres *ret)
{
    struct slurm_tres t = {0};
    struct str rest = text;

    while (rest.at) {
        struct str item = str_cut(&rest, ',');
        struct err *e = item.size > 0 ? item_parse(item, &t) : NULL;

        if (e) {
            slurm_tres_done(&t);
            return err_wrap(e, "TRES " STR_FMT, STR_ARG(text));
        }
    }
    *ret = t;
    return NULL;
}

void slurm_tres_done(struct slurm_tres *t)
{
    VEC_EACH (&t->items, item)
        free(item->name);
    vec_done(&t->items);
    *t = (struct slurm_tres){0};
}

int64_t slurm_tres_get(const struct slurm_tres *t, const char *name, int64_t absent)
{
    VEC_EACH (&t->items, item)
        if (text_equal(item->name, name))
            return item->count;
    return absent;
}

static bool tres_is_before(const char *a, const char *b)
{
    size_t one = tres_rank(a);
    size_t other = tres_rank(b);

    return one != other ? one < other : strcmp(a, b) < 0;
}

void slurm_tres_set(struct slurm_tres *t, const char *name, int64_t count)
{
    size_t at = 0;

    while (at < t->items.n && tres_is_before(t->items.at[at].name, name))
        at++;
    if (at < t->items.n && text_equal(t->items.at[at].name, name)) {
        t->items.at[at].count = count;
        return;
    }
    vec_add(&t->items, (struct slurm_tres_item){0});
    memmove(&t->items.at[at + 1], &t->items.at[at], (t->items.n - 1 - at) * sizeof(*t->items.at));
    t->items.at[at] = (struct slurm_tres_item){mem_strdup(name), count};
}

char *slurm_tres_format(const struct slurm_tres *t)
{
    struct buf out = {0};
    char memory[SLURM_AMOUNT_TEXT_SIZE];

    VEC_EACH (&t->items, item) {
        if (item->count < 0)
            continue;
        slurm_memory_format(item->count, memory);
        buf_printf(&out, "%s%s=", out.size > 0 ? "," : "", item->name);
        if (text_equal(item->name, "mem"))
            buf_add_text(&out, memory);
        else
            buf_printf(&out, "%" PRId64, item->count);
    }
    return buf_steal(&out);
}

struct err *slurm_tres_change(const char *list, const char *changes, char **ret)
{
    struct slurm_tres now = {0};
    struct slurm_tres change = {0};
    struct err *e = slurm_tres_parse(str_of(changes), &change);

    if (!e && list)
        e = slurm_tres_parse(str_of(list), &now);
    if (!e) {
        VEC_EACH (&change.items, item)
            slurm_tres_set(&now, item->name, item->count);
        *ret = slurm_tres_format(&now);
    }
    slurm_tres_done(&now);
    slurm_tres_done(&change);
    return e;
}

struct err *slurm_factor_parse(const char *text, int64_t *ret_micro)
{
    struct str fraction = str_of(text);
    struct str whole = str_cut(&fraction, '.');
    int64_t micro = 0;
    int64_t n = 0;
    AUTO(err_freep) struct err *e = num_parse_int64(whole, 0, 1000000000, &n);

    for (size_t i = 0; !e && i < 6; i++)
        micro = micro * 10 + (i < fraction.size ? fraction.at[i] - '0' : 0);
    for (size_t i = 0; i < fraction.size; i++)
        if (fraction.at[i] < '0' || fraction.at[i] > '9')
            micro = -1;
    if (e || micro < 0)
        return err_new(ERR_INVALID, "want a number of 0 to 1000000000, as 0.5");
    *ret_micro = n * 1000000 + micro;
    return NULL;
}
