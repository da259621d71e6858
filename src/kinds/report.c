/* report.c - the parameters of reports */

#include "kinds/report.h"

#include "base/num.h"

struct err *report_number(const json_t *parameters, const char *key, int64_t fallback, int64_t max,
                          size_t *ret)
{
    const char *text = json_text(parameters, key);
    int64_t n = fallback;

    if (text) {
        struct err *e = num_parse_int64(str_of(text), 0, max, &n);

        if (e)
            return err_wrap(e, "%s", key);
    }
    *ret = (size_t)n;
    return NULL;
}

struct err *report_check_known(const json_t *parameters, const char *const *known, size_t n)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)parameters, key, value) {
        bool is_known = false;

        (void)value;
        for (size_t i = 0; i < n; i++)
            is_known |= text_equal(key, known[i]);
        if (!is_known)
            return err_new(ERR_BAD_REQUEST, "unknown parameter \"%.64s\"", key);
    }
    return NULL;
}
