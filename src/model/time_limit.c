/* time_limit.c - reads time limits */

#include "model/time_limit.h"

#include <string.h>

#include "base/num.h"
#include "base/stamp.h"

/* Reads a time [D-][H:]M[:S], by the number of colons and the presence of days. */
static struct err *time_limit_read_slurm(struct str text, bool has_days, int64_t *ret_s)
{
    int64_t parts[3] = {0};
    size_t n = 0;
    int64_t factors[3];

    for (struct str rest = text; rest.at;) {
        if (n == 3)
            return err_new(ERR_INVALID, "too many colons");
        TRY(num_parse_int64(str_cut(&rest, ':'), 0, 1000000, &parts[n++]));
    }
    factors[0] = has_days || n == 3 ? 3600 : 60;
    factors[1] = has_days || n == 3 ? 60 : 1;
    factors[2] = 1;
    *ret_s = parts[0] * factors[0] + parts[1] * factors[1] + parts[2] * factors[2];
    return NULL;
}

static struct err *time_limit_read(const char *text, int64_t *ret_ns)
{
    struct str rest = str_of(text);
    struct str days_text = str_cut(&rest, '-');
    bool has_days = rest.at != NULL;
    int64_t days = 0;
    int64_t seconds = 0;

    if (strpbrk(text, "dhms"))
        return num_parse_duration(str_of(text), ret_ns);
    if (has_days)
        TRY(num_parse_int64(days_text, 0, 36500, &days));
    TRY(time_limit_read_slurm(has_days ? rest : days_text, has_days, &seconds));
    *ret_ns = (days * 86400 + seconds) * NS_PER_SEC;
    return NULL;
}

struct err *time_limit_parse(const char *text, int64_t *ret_ns)
{
    int64_t ns = 0;
    AUTO(err_freep) struct err *e = time_limit_read(text, &ns);

    if (e || ns < NS_PER_SEC)
        return err_new(ERR_BAD_REQUEST,
                       "\"%s\" is not a time of at least a second: want 90s, 1h30m, 2d, or 90 "
                       "(minutes), 1:30:00, 2-12",
                       text);
    *ret_ns = ns;
    return NULL;
}
