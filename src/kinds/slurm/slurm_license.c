/* slurm_license.c - licences of the cluster and of jobs */

#include "kinds/slurm/slurm_license.h"

#include "base/mem.h"
#include "base/num.h"

enum {
    LICENSES_MAX = 256 /* names */
};

static struct err *license_refuse(void)
{
    return err_new(ERR_INVALID, "Invalid license specification");
}

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.at[i] <= ' ' || strchr(",|;=()\"'\\", name.at[i]))
            return false;
    return name.size > 0;
}

static struct err *license_read(struct str item, struct slurm_tres *t)
{
    struct str count = item;
    struct str name = str_cut(&count, ':');
    AUTO_FREE char *key = mem_strndup(name.at, name.size);
    AUTO(err_freep) struct err *e = NULL;
    int64_t n = 1;

    if (!is_name(name) || t->items.n == LICENSES_MAX)
        return license_refuse();
    if (count.at)
        e = num_parse_int64(count, 0, INT32_MAX, &n);
    if (e)
        return license_refuse();
    slurm_tres_set(t, key, slurm_tres_get(t, key, 0) + n);
    return NULL;
}

static struct err *licenses_read(struct str text, char separator, struct slurm_tres *ret)
{
    struct slurm_tres t = {0};
    struct str rest = text;

    while (rest.at) {
        struct err *e = license_read(str_cut(&rest, separator), &t);

        if (e) {
            slurm_tres_done(&t);
            return e;
        }
    }
    *ret = t;
    return NULL;
}

struct err *slurm_licenses_parse(struct str text, struct slurm_tres *ret)
{
    return licenses_read(text, ',', ret);
}

struct err *slurm_licenses_ask(struct str text, struct slurm_tres *ret, bool *ret_is_any)
{
    bool is_any = text.size > 0 && memchr(text.at, '|', text.size);

    TRY(licenses_read(text, is_any ? '|' : ',', ret)); /* a name has neither */
    *ret_is_any = is_any;
    return NULL;
}

struct err *slurm_licenses_admit(const json_t *settings, const json_t *spec)
{
    const char *asked = json_text_filled(spec, "licenses");
    const char *all = json_text_filled(settings, "Licenses");
    struct slurm_tres wanted = {0};
    struct slurm_tres total = {0};
    bool is_any = false;
    bool is_known = true;
    size_t n_fit = 0;
    size_t n;

    if (!asked)
        return NULL;
    TRY(slurm_licenses_ask(str_of(asked), &wanted, &is_any));
    if (all)
        err_free(slurm_licenses_parse(str_of(all), &total)); /* malformed: there are none */
    VEC_EACH (&wanted.items, item) {
        int64_t most = slurm_tres_get(&total, item->name, -1);

        is_known = is_known && most >= 0;
        n_fit += item->count <= most;
    }
    n = wanted.items.n;
    slurm_tres_done(&wanted);
    slurm_tres_done(&total);
    return is_known && (n_fit == n || (is_any && n_fit > 0)) ? NULL : license_refuse();
}
