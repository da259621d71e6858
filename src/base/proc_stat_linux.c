/* proc_stat_linux.c - reads /proc/PID/stat */

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/proc_stat.h"

enum {
    STAT_MAX = 4096,
    FIELD_PARENT = 4, /* the first number behind the state; fields count from 1 */
    FIELD_SESSION = 6,
    FIELD_FLAGS = 9,
    FIELD_START = 22
};

/* "4321 (a name) S 1 4321 4321 0 -1 4194624 ...": a name may have blanks and brackets. */
bool proc_stat_read(int64_t pid, struct proc_stat *ret)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO_FREE char *path = mem_format("/proc/%" PRId64 "/stat", pid);
    AUTO(err_freep) struct err *e = file_read(path, STAT_MAX, &text);
    const char *open = e ? NULL : strchr(text.at, '(');
    const char *close = e ? NULL : strrchr(text.at, ')');
    int64_t fields[FIELD_START + 1] = {0};
    struct str rest;

    if (!open || !close || strlen(close) < strlen(") S 1"))
        return false;
    rest = str_of(close + strlen(") S "));
    for (size_t i = FIELD_PARENT; i <= FIELD_START && !e; i++)
        e = rest.at ? num_parse_int64(str_cut(&rest, ' '), INT64_MIN, INT64_MAX, &fields[i])
                    : err_new(ERR_INVALID, "%s is cut short", path);
    if (e)
        return false;
    *ret = (struct proc_stat){.is_dead = close[2] == 'Z' || close[2] == 'X',
                              .parent = fields[FIELD_PARENT],
                              .session = fields[FIELD_SESSION],
                              .flags = fields[FIELD_FLAGS],
                              .start = fields[FIELD_START]};
    (void)snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(close - open - 1), open + 1);
    return true;
}
