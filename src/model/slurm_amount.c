/* slurm_amount.c - reading and writing memory sizes and generic resources of Slurm's commands */

#include "model/slurm_amount.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"

#define COUNT_LARGEST  (INT64_C(1) << 50)
#define MEMORY_LARGEST (INT64_C(1) << 40) /* MiB */

/* ---- memory ---- */

static struct err *memory_error(struct str text)
{
    return err_new(ERR_INVALID, "'" STR_FMT "' is not a size: want N, NK, NM, NG or NT",
                   STR_ARG(text));
}

struct err *slurm_memory_parse(struct str text, int64_t *ret_mib)
{
    struct str digits = text;
    AUTO(err_freep) struct err *e = NULL;
    int64_t amount = 0;
    int shift = 0;

    if (digits.size > 1 && (digits.at[digits.size - 1] == 'B' || digits.at[digits.size - 1] == 'b'))
        digits.size--;
    if (digits.size < text.size && digits.at[digits.size - 1] <= '9')
        return memory_error(text); /* a B alone */
    if (digits.size == 0 || *digits.at < '0' || *digits.at > '9')
        return memory_error(text);
    switch (digits.at[digits.size - 1]) {
    case 'K':
    case 'k':
        shift = -10;
        break;
    case 'M':
    case 'm':
        shift = 0;
        break;
    case 'G':
    case 'g':
        shift = 10;
        break;
    case 'T':
    case 't':
        shift = 20;
        break;
    default:
        digits.size++;
    }
    digits.size--;
    e = num_parse_int64(digits, 0, shift < 0 ? MEMORY_LARGEST << 10 : MEMORY_LARGEST >> shift,
                        &amount);
    if (e)
        return memory_error(text);
    *ret_mib = shift < 0 ? (amount + 1023) >> 10 : amount << shift;
    return NULL;
}

void slurm_memory_format(int64_t mib, char ret[SLURM_AMOUNT_TEXT_SIZE])
{
    static const char units[] = "MGTP";
    size_t unit = 0;

    while (mib > 0 && mib % 1024 == 0 && unit + 2 < sizeof(units)) {
        mib /= 1024;
        unit++;
    }
    if (mib == 0)
        (void)snprintf(ret, SLURM_AMOUNT_TEXT_SIZE, "0");
    else
        (void)snprintf(ret, SLURM_AMOUNT_TEXT_SIZE, "%" PRId64 "%c", mib, units[unit]);
}

void slurm_bytes_format(int64_t bytes, char ret[SLURM_AMOUNT_TEXT_SIZE])
{
    static const char *const units[] = {"", "K", "M", "G", "T"};
    size_t unit = 0;

    while (bytes > 0 && bytes % 1024 == 0 && unit + 1 < COUNT(units)) {
        bytes /= 1024;
        unit++;
    }
    (void)snprintf(ret, SLURM_AMOUNT_TEXT_SIZE, "%" PRId64 "%s", bytes, units[unit]);
}

void slurm_unit_format(int64_t bytes, char unit, char ret[SLURM_AMOUNT_TEXT_SIZE])
{
    static const char units[] = "KMGTP";
    unsigned shift = 10 * (unsigned)(strchr(units, unit) - units + 1);
    int64_t whole = bytes >> shift;
    int64_t rest = bytes - (whole << shift);
    /* In hundredths, rounded as printf does, but without doubles. */
    int64_t cents = ((rest >> (shift - 10)) * 100 + 512) >> 10;

    if (cents == 100) {
        whole++;
        cents = 0;
    }
    if (bytes == 0)
        (void)snprintf(ret, SLURM_AMOUNT_TEXT_SIZE, "0");
    else if (rest == 0)
        (void)snprintf(ret, SLURM_AMOUNT_TEXT_SIZE, "%" PRId64 "%c", whole, unit);
    else
        (void)snprintf(ret, SLURM_AMOUNT_TEXT_SIZE, "%" PRId64 ".%02" PRId64 "%c", whole, cents,
                       unit);
}

/* ---- generic resources ---- */

static bool is_number_like(struct str s)
{
    return s.size > 0 && *s.at >= '0' && *s.at <= '9';
}

/* Reads "2", "2K"; false: another text, such as the type "1g.10gb". */
static bool gres_read_count(struct str text, int64_t *ret)
{
    static const char units[] = "kmgtp";
    struct str digits = text;
    AUTO(err_freep) struct err *e = NULL;
    int64_t count = 0;
    int shift = 0;

    if (!is_number_like(text))
        return false;
    for (int i = 0; units[i]; i++)
        if ((text.at[text.size - 1] | 0x20) == units[i]) {
            shift = 10 * (i + 1);
            digits.size--;
        }
    e = num_parse_int64(digits, 0, COUNT_LARGEST >> shift, &count);
    if (e)
        return false;
    *ret = count << shift;
    return true;
}

static bool is_gres_word(struct str s)
{
    for (size_t i = 0; i < s.size; i++)
        if ((unsigned char)s.at[i] <= ' ' || strchr(":,=/()\"'\\", s.at[i]) || s.at[i] == 127)
            return false;
    return s.size > 0 && *s.at != '-';
}

static struct err *gres_error(struct str text)
{
    return err_new(ERR_INVALID, "'" STR_FMT "': want NAME[:TYPE][:COUNT]", STR_ARG(text));
}

static struct err *gres_add(struct slurm_gres_list *list, struct str name, struct str type,
                            int64_t count)
{
    if (list->items.n >= SLURM_GRES_MAX)
        return err_new(ERR_INVALID, "more than %d items", SLURM_GRES_MAX);
    VEC_EACH (&list->items, item)
        if (str_equal(str_of(item->name), name) && (item->type == NULL) != (type.at == NULL))
            return err_new(ERR_INVALID, "'" STR_FMT "' is asked for with and without a type",
                           STR_ARG(name));
    vec_add(&list->items, (struct slurm_gres){
                              .name = mem_strndup(name.at, name.size),
                              .type = type.at ? mem_strndup(type.at, type.size) : NULL,
                              .count = count,
                          });
    return NULL;
}

/* Reads one item; `name`: of --gpus; at NULL: the item begins with its name. */
static struct err *gres_read(struct str part, struct str name, struct slurm_gres_list *list)
{
    struct str rest = part;
    struct str type = {0};
    struct str last = {0};
    int64_t count = 1;

    if (str_starts_with(rest, STR("gres/")) || str_starts_with(rest, STR("gres:")))
        rest = (struct str){rest.at + 5, rest.size - 5};
    if (!name.at)
        name = str_cut(&rest, ':');
    if (rest.at) {
        type = str_cut(&rest, ':');
        last = rest;
        if (!last.at && gres_read_count(type, &count))
            type = (struct str){0};
    }
    if (last.at && !gres_read_count(last, &count))
        return gres_error(part);
    if (!is_gres_word(name) || (type.at && !is_gres_word(type)))
        return gres_error(part);
    return gres_add(list, name, type, count);
}

struct err *slurm_gres_parse(struct str text, const char *name, struct slurm_gres_list *ret)
{
    struct slurm_gres_list list = {0};
    struct str rest = text;

    if (text.size == 0 || str_equal(text, STR("none")))
        return NULL;
    while (rest.at) {
        struct err *e = gres_read(str_cut(&rest, ','), str_of(name), &list);

        if (e) {
            slurm_gres_list_done(&list);
            return e;
        }
    }
    *ret = list;
    return NULL;
}

char *slurm_gres_format(const struct slurm_gres_list *list, const char *prefix)
{
    struct buf out = {0};

    for (size_t i = 0; i < list->items.n; i++) {
        const struct slurm_gres *g = &list->items.at[i];

        buf_printf(&out, "%s%s%s%s%s:%" PRId64, i > 0 ? "," : "", prefix, g->name,
                   g->type ? ":" : "", text_or_empty(g->type), g->count);
    }
    return buf_steal(&out);
}

void slurm_gres_list_done(struct slurm_gres_list *list)
{
    VEC_EACH (&list->items, item) {
        free(item->name);
        free(item->type);
    }
    vec_done(&list->items);
}
