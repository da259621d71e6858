/* refusal.c - refusals by quotas and limits, explained */

#include "cli/job/refusal.h"

#include "base/mem.h"
#include "model/quantity.h"
#include "model/resource.h"

static const char gpus[] = "requests." GPU_RESOURCE;

/* "exceeded quota: NAME, requested: K=V,..., used: K=V,..., limited: K=V,..." */
struct excess {
    struct str quota;
    struct str requested;
    struct str used;
    struct str limited;
};

/* Sets `*ret` to the text of `*rest` before `mark`; `*rest` becomes the text after it. False: no
 * such mark. */
static bool cut_at(struct str *rest, const char *mark, struct str *ret)
{
    const char *at = memmem(rest->at, rest->size, mark, strlen(mark));

    if (!at)
        return false;
    *ret = (struct str){rest->at, (size_t)(at - rest->at)};
    rest->size -= ret->size + strlen(mark);
    rest->at = at + strlen(mark);
    return true;
}

static bool read_excess(const char *text, struct excess *ret)
{
    struct str rest = str_of(text);
    struct str before;

    if (!cut_at(&rest, "exceeded quota: ", &before) ||
        !cut_at(&rest, ", requested: ", &ret->quota) ||
        !cut_at(&rest, ", used: ", &ret->requested) || !cut_at(&rest, ", limited: ", &ret->used))
        return false;
    ret->limited = rest;
    return true;
}

/* The value of `key` in "K=V,K=V". */
static bool find_amount(struct str list, struct str key, struct quantity *ret)
{
    while (list.at) {
        struct str value = str_cut(&list, ',');
        struct str name = str_cut(&value, '=');

        if (value.at && str_equal(name, key)) {
            AUTO(err_freep) struct err *e = quantity_parse(value, ret);

            return !e;
        }
    }
    return false;
}

struct shortage {
    struct str resource;
    struct quantity asked;
    struct quantity used;
    struct quantity hard;
};

static bool read_shortage(const struct excess *x, struct str pair, struct shortage *ret)
{
    struct str value = pair;

    ret->resource = str_cut(&value, '=');
    return find_amount(x->requested, ret->resource, &ret->asked) &&
           find_amount(x->used, ret->resource, &ret->used) &&
           find_amount(x->limited, ret->resource, &ret->hard);
}

/* used + asked - hard, which is above 0 for a refusal. */
static struct quantity short_by(const struct shortage *s)
{
    struct quantity q = {.form = s->asked.form};
    int64_t sum;

    if (__builtin_add_overflow(s->used.milli, s->asked.milli, &sum) ||
        __builtin_sub_overflow(sum, s->hard.milli, &q.milli))
        q.milli = INT64_MAX;
    return q;
}

static void add_shortage(struct buf *out, const struct shortage *s, bool is_named)
{
    char asked[QUANTITY_TEXT_SIZE];
    char used[QUANTITY_TEXT_SIZE];
    char hard[QUANTITY_TEXT_SIZE];
    char lacks[QUANTITY_TEXT_SIZE];

    quantity_format(s->asked, asked);
    quantity_format(s->used, used);
    quantity_format(s->hard, hard);
    quantity_format(short_by(s), lacks);
    buf_add_text(out, "\n  ");
    if (is_named)
        buf_printf(out, STR_FMT ": ", STR_ARG(s->resource));
    buf_printf(out, "used %s of %s, asked %s, short by %s", used, hard, asked, lacks);
}

static void add_title(struct buf *out, const struct excess *x, const struct shortage *only)
{
    char asked[QUANTITY_TEXT_SIZE];
    bool is_gpus = only && str_equal(only->resource, str_of(gpus));

    buf_printf(out, "quota \"" STR_FMT "\" has no room", STR_ARG(x->quota));
    if (!only)
        return;
    quantity_format(only->asked, asked);
    if (is_gpus)
        buf_printf(out, " for %s GPUs", asked);
    else
        buf_printf(out, " for %s of " STR_FMT, asked, STR_ARG(only->resource));
}

char *refusal_format(const char *text, int64_t *ret_free)
{
    struct excess x;
    struct buf title = {0};
    AUTO(buf_done) struct buf lines = {0};
    struct shortage last = {0};
    struct str rest;
    size_t n = 0;
    bool is_list;

    if (!read_excess(text, &x))
        return NULL;
    rest = x.requested;
    is_list = memchr(rest.at, ',', rest.size) != NULL;
    if (ret_free)
        *ret_free = -1;
    while (rest.at) {
        struct shortage s = {0};

        if (!read_shortage(&x, str_cut(&rest, ','), &s))
            continue;
        add_shortage(&lines, &s, is_list);
        if (ret_free && str_equal(s.resource, str_of(gpus)))
            *ret_free = s.hard.milli > s.used.milli ? (s.hard.milli - s.used.milli) / 1000 : 0;
        last = s;
        n++;
    }
    if (n == 0)
        return NULL;
    add_title(&title, &x, is_list ? NULL : &last);
    buf_add(&title, lines.at, lines.size);
    return buf_steal(&title);
}

static void hint_of_quota(struct cli *c, const char *ns, int64_t n_free)
{
    if (n_free > 0 && text_equal(c->in->command->name, "run"))
        cli_try(c, "mete run --gpus %lld ...   or wait: mete quota -n %s", (long long)n_free, ns);
    else
        cli_try(c, "mete quota -n %s   shows the usage, mete ps -n %s   the jobs", ns, ns);
}

struct err *refusal_explain(struct cli *c, struct err *e, const char *ns)
{
    const char *text = e ? err_message(e) : "";
    int64_t n_free = -1;
    AUTO_FREE char *better = NULL;

    if (!e || (err_code(e) != ERR_FORBIDDEN && err_code(e) != ERR_OVER_QUOTA))
        return e;
    better = refusal_format(text, &n_free);
    if (strstr(text, "failed quota: "))
        cli_try(c,
                "set requests and limits of each container; mete quota -n %s   lists the limited "
                "resources",
                ns);
    else if (strstr(text, " usage per Container is ") || strstr(text, " usage per Pod is "))
        cli_try(c, "mete get limits -n %s -o yaml   shows the limits", ns);
    if (!better)
        return e;
    hint_of_quota(c, ns, n_free);
    c->exit_code = EXIT_CONFLICT;
    c->has_code = true;
    err_free(e);
    return err_new(ERR_OVER_QUOTA, "%s", better);
}
