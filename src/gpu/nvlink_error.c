/* nvlink_error.c - reads the line of an NVLink error and finds its row */

#include "gpu/nvlink_error.h"

#include <string.h>

#include "base/num.h"

/* The next word between blanks; size 0: none. */
static struct str nvlink_word(struct str *rest)
{
    struct str word = {0};

    while (rest->at && rest->size > 0 && word.size == 0)
        word = str_cut(rest, ' ');
    return word;
}

/* Reads "0x004505c6", "(0x004505c6" or "0x0)". */
static bool nvlink_hex(struct str word, uint32_t *ret)
{
    uint64_t value = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (word.size > 0 && word.at[0] == '(')
        word = (struct str){.at = word.at + 1, .size = word.size - 1};
    if (word.size > 0 && word.at[word.size - 1] == ')')
        word.size--;
    if (!str_starts_with(word, STR("0x")) || word.size > 10)
        return false;
    e = num_parse_hex((struct str){.at = word.at + 2, .size = word.size - 2}, &value);
    *ret = (uint32_t)value;
    return !e;
}

/* Is the unit of the line one of the row's names? */
static bool nvlink_is_unit(const char *names, struct str unit)
{
    struct str rest = str_of(names);

    if (str_equal(rest, unit))
        return true;
    while (rest.at && rest.size > 0)
        if (str_equal(str_cut(&rest, '/'), unit))
            return true;
    return false;
}

static bool nvlink_find_row(int64_t xid, struct str unit, uint32_t word, uint32_t status,
                            enum xid_action *ret)
{
    for (size_t version = 0; version < 2; version++)
        for (size_t i = 0; i < NVLINK_ROWS; i++) {
            const struct nvlink_row *r = &nvlink_rows[i];

            if (r->xid != xid || r->status != status || !nvlink_is_unit(r->unit, unit) ||
                (word & r->mask[version]) != r->word[version])
                continue;
            *ret = r->action;
            return true;
        }
    return false;
}

bool nvlink_error_find(struct str text, enum xid_action *ret)
{
    struct str rest = text;
    struct str unit = {0};
    struct str word = {0};
    int64_t xid = 0;
    uint32_t intr = 0;
    uint32_t status = 0;
    AUTO(err_freep)
    struct err *e = num_parse_int64(str_cut(&rest, ','), NVLINK_XID_FIRST, NVLINK_XID_LAST, &xid);

    if (e)
        return false;
    for (word = nvlink_word(&rest);
         word.size > 0 && !str_equal(word, STR("Fatal")) && !str_equal(word, STR("Nonfatal"));
         word = nvlink_word(&rest))
        unit = word; /* a process may be named before the unit */
    while (word.size > 0 && word.at[0] != '(')
        word = nvlink_word(&rest);
    return word.size > 0 && nvlink_hex(word, &intr) && nvlink_hex(nvlink_word(&rest), &status) &&
           nvlink_find_row(xid, unit, intr, status, ret);
}
