/* etc_linux.c - files of /etc for containers */

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/volume/etc.h"

enum {
    ETC_SIZE_MAX = 1 << 20
};

const char *const etc_names[] = {"hosts", "hostname", "resolv.conf", NULL};

static struct err *read_ours(const char *name, struct buf *ret)
{
    AUTO_FREE char *path = mem_format("/etc/%s", name);
    char host[256] = "";
    struct err *e = NULL;

    if (text_equal(name, "hostname")) { /* the present hostname, not the file's */
        if (gethostname(host, sizeof(host) - 1) < 0)
            return err_errno(errno, "ask for the host name");
        buf_printf(ret, "%s\n", host);
        return NULL;
    }
    e = file_read(path, ETC_SIZE_MAX, ret);
    if (e && err_code(e) == ERR_NOT_FOUND)
        err_free(TAKE(e));
    return e;
}

static struct err *make_one(const char *dir, const char *name, const char *more, uint32_t uid)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(buf_done) struct buf text = {0};

    if (file_exists(path)) /* keep changes of the pod's */
        return NULL;
    TRY(read_ours(name, &text));
    if (text_equal(name, "hosts"))
        buf_add_text(&text, more);
    TRY(file_write(path, 0644, (struct str){text.at ? text.at : "", text.size}));
    return chown(path, uid, uid) < 0 ? err_errno(errno, "give %s to the pod", path) : NULL;
}

struct err *etc_make(const char *dir, const char *hosts, uint32_t uid)
{
    AUTO_FREE char *etc = mem_format("%s/" ETC_DIR, dir);

    TRY(dir_make(etc, 0700));
    for (size_t i = 0; etc_names[i]; i++)
        TRY(make_one(etc, etc_names[i], hosts, uid));
    return NULL;
}
