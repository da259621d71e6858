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

/* The lines of a pod with an address, as the kubelet writes them: programs know the file by its
 * first line. */
static void add_hosts(const struct etc_content *c, struct buf *ret)
{
    buf_printf(ret,
               "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"
               "::1\tlocalhost ip6-localhost ip6-loopback\n%s\t%s\n",
               c->address, c->hostname);
}

static struct err *make_content(const char *name, const struct etc_content *c, struct buf *ret)
{
    if (c->resolv && !c->is_resolv_more && text_equal(name, "resolv.conf"))
        buf_add_text(ret, c->resolv);
    else if (c->hostname && text_equal(name, "hostname"))
        buf_printf(ret, "%s\n", c->hostname);
    else if (c->address && text_equal(name, "hosts"))
        add_hosts(c, ret);
    else
        TRY(read_ours(name, ret));
    if (c->resolv && c->is_resolv_more && text_equal(name, "resolv.conf"))
        buf_add_text(ret, c->resolv);
    if (text_equal(name, "hosts") && c->hostname && !c->address)
        buf_printf(ret, "127.0.1.1\t%s\n", c->hostname);
    if (text_equal(name, "hosts"))
        buf_add_text(ret, c->hosts);
    return NULL;
}

static struct err *make_one(const char *dir, const char *name, const struct etc_content *c,
                            uint32_t uid)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(buf_done) struct buf text = {0};

    if (file_exists(path)) /* keep changes of the pod's */
        return NULL;
    TRY(make_content(name, c, &text));
    TRY(file_write(path, 0644, (struct str){text.at ? text.at : "", text.size}));
    return chown(path, uid, uid) < 0 ? err_errno(errno, "give %s to the pod", path) : NULL;
}

struct err *etc_make(const char *dir, const struct etc_content *c, uint32_t uid)
{
    AUTO_FREE char *etc = mem_format("%s/" ETC_DIR, dir);

    TRY(dir_make(etc, 0700));
    for (size_t i = 0; etc_names[i]; i++)
        TRY(make_one(etc, etc_names[i], c, uid));
    return NULL;
}
