/* lease_file.c - reads and writes DATA/node/lease */

#include "node/lease_file.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

enum {
    LEASE_FILE_MAX = 512
};

struct err *lease_file_write(const char *dir, const char *boot_id, int64_t held_to_ns)
{
    AUTO_FREE char *path = mem_format("%s/lease", dir);
    AUTO_FREE char *text = mem_format("%s %" PRId64 "\n", boot_id, held_to_ns);

    return file_write(path, 0600, str_of(text));
}

int64_t lease_file_read(const char *dir, const char *boot_id, int64_t fallback_ns)
{
    AUTO_FREE char *path = mem_format("%s/lease", dir);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, LEASE_FILE_MAX, &text);
    AUTO(err_freep) struct err *bad = NULL;
    struct str rest = {.at = text.at, .size = text.size};
    int64_t held_to_ns = 0;
    struct str boot;

    if (e || text.size == 0 || text.at[text.size - 1] != '\n')
        return fallback_ns;
    rest.size--;
    boot = str_cut(&rest, ' ');
    bad = num_parse_int64(rest, 0, INT64_MAX, &held_to_ns);
    return !bad && str_equal(boot, str_of(boot_id)) ? held_to_ns : fallback_ns;
}
