/* kernel_log.c - records of /dev/kmsg about XIDs */

#include "gpu/kernel_log.h"

#include "base/num.h"
#include "base/stamp.h"
#include "gpu/nvlink_error.h"

static struct str after(struct str s, size_t n)
{
    return (struct str){.at = s.at + n, .size = s.size - n};
}

/* Takes the digits at the front. False: there are none, or too many. */
static bool take_hex(struct str *rest, unsigned *ret)
{
    uint64_t value = 0;
    size_t n = 0;

    while (n < rest->size && ((rest->at[n] >= '0' && rest->at[n] <= '9') ||
                              (rest->at[n] >= 'a' && rest->at[n] <= 'f') ||
                              (rest->at[n] >= 'A' && rest->at[n] <= 'F')))
        n++;
    for (size_t i = 0; i < n && n <= 8; i++) {
        char c = rest->at[i];

        value = value * 16 + (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    *rest = after(*rest, n);
    *ret = (unsigned)value;
    return n > 0 && n <= 8;
}

static bool take_char(struct str *rest, char c)
{
    if (rest->size == 0 || rest->at[0] != c)
        return false;
    *rest = after(*rest, 1);
    return true;
}

/* "0000:3b:00", with or without the function after it. */
static bool take_pci(struct str *rest, unsigned ret[3])
{
    return take_hex(rest, &ret[0]) && take_char(rest, ':') && take_hex(rest, &ret[1]) &&
           take_char(rest, ':') && take_hex(rest, &ret[2]);
}

/* The decimal number at the front; -1: none. */
static int64_t take_number(struct str *rest)
{
    int64_t value = 0;
    size_t n = 0;

    while (n < rest->size && n < 9 && rest->at[n] >= '0' && rest->at[n] <= '9')
        value = value * 10 + (rest->at[n++] - '0');
    *rest = after(*rest, n);
    return n > 0 ? value : -1;
}

/* The head of a record: "level,number,microseconds,flags[,...]". */
static bool kernel_xid_head(struct str head, struct kernel_xid *x)
{
    struct str number;
    struct str at;
    AUTO(err_freep) struct err *e = NULL;

    (void)str_cut(&head, ',');
    number = str_cut(&head, ',');
    at = str_cut(&head, ',');
    if (!number.at || !at.at)
        return false;
    e = num_parse_int64(number, 0, INT64_MAX, &x->seq);
    if (!e)
        e = num_parse_int64(at, 0, INT64_MAX / 1000, &x->at_ns);
    x->at_ns *= e ? 0 : 1000;
    return !e;
}

bool kernel_xid_parse(struct str record, struct kernel_xid *ret)
{
    static const struct str start = STR("NVRM: Xid (");
    static const struct str named = STR("PCI:");
    static const struct str instance = STR(" GPU-I:");
    struct kernel_xid x = {.instance = -1};
    struct str rest = record;
    struct str head = str_cut(&rest, ';');

    if (!rest.at || !str_starts_with(rest, start) || !kernel_xid_head(head, &x))
        return false;
    rest = after(rest, start.size);
    if (str_starts_with(rest, named)) /* drivers before 300 write the bare address */
        rest = after(rest, named.size);
    if (!take_pci(&rest, x.pci))
        return false;
    if (take_char(&rest, '.') && take_number(&rest) < 0)
        return false;
    if (str_starts_with(rest, instance)) {
        rest = after(rest, instance.size);
        x.instance = (int)take_number(&rest);
        if (x.instance < 0)
            return false;
    }
    if (!take_char(&rest, ')') || !take_char(&rest, ':') || !take_char(&rest, ' '))
        return false;
    x.is_decoded = nvlink_error_find(rest, &x.action);
    x.xid = take_number(&rest);
    if (x.xid < 0)
        return false;
    *ret = x;
    return true;
}

bool kernel_xid_is_of(const struct kernel_xid *x, const char *pci)
{
    struct str rest = str_of(pci);
    unsigned found[3] = {0};

    return take_pci(&rest, found) && found[0] == x->pci[0] && found[1] == x->pci[1] &&
           found[2] == x->pci[2];
}
