/* port_holder_linux.c - finds listening sockets (/proc/net/tcp) and the processes that hold them */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "node/session/port_holder.h"

enum {
    TABLE_MAX = 64 << 20, /* bytes of /proc/net/tcp: about 400,000 sockets */
    PROCS_MAX = 1 << 20,
    DEPTH_MAX = 8,       /* of cgroups below a container's */
    LINKS_MAX = 1 << 18, /* descriptors to read */
    LISTENING = 0x0a,    /* TCP_LISTEN in the tables */
};

/* A socket that listens on the port. */
struct listener {
    uint64_t inode;
    bool takes_v4; /* connections to 127.0.0.1 */
    bool takes_v6; /* to ::1 */
    bool is_held;  /* by the pod */
};

struct search {
    const struct port_question *q;
    VEC(struct listener) listeners;
    size_t n_links;
    size_t n_missing; /* listeners with unknown holders */
};

/* ---- the tables ---- */

/* The listener of an address in the kernel's form: words of four bytes in host byte order. */
static struct listener listener_of(struct str address)
{
    static const struct {
        const char *address;
        bool takes_v4;
        bool takes_v6;
    } known[] = {
        {"0100007F", true, false},
        {"00000000", true, false},
        {"00000000000000000000000001000000", false, true},
        {"00000000000000000000000000000000", true, true}, /* true unless IPV6_V6ONLY */
        {"0000000000000000FFFF00000100007F", true, false},
        {"0000000000000000FFFF000000000000", true, false},
    };

    for (size_t i = 0; i < COUNT(known); i++)
        if (str_equal(address, str_of(known[i].address)))
            return (struct listener){.takes_v4 = known[i].takes_v4, .takes_v6 = known[i].takes_v6};
    return (struct listener){0};
}

static struct str next_word(struct str *line)
{
    struct str word = {0};

    while (line->at && word.size == 0)
        word = str_cut(line, ' ');
    return word;
}

/* Reads "SLOT: LOCAL:PORT REMOTE:PORT STATE QUEUES TIMER RETRANSMITS UID TIMEOUT INODE ...". */
static void take_row(struct search *s, struct str line)
{
    struct str words[10] = {{0}};
    struct str local;
    struct str address;
    struct listener found = {0};
    uint64_t port = 0;
    uint64_t state = 0;
    int64_t inode = 0;
    AUTO(err_freep) struct err *e = NULL;

    for (size_t i = 0; i < 10; i++)
        words[i] = next_word(&line);
    local = words[1];
    address = local.at ? str_cut(&local, ':') : local;
    if (!words[9].at || !local.at)
        return;
    e = num_parse_hex(local, &port);
    if (!e)
        e = num_parse_hex(words[3], &state);
    if (!e)
        e = num_parse_int64(words[9], 1, INT64_MAX, &inode);
    if (e || port != s->q->port || state != LISTENING)
        return;
    found = listener_of(address);
    found.inode = (uint64_t)inode;
    if (found.takes_v4 || found.takes_v6)
        vec_add(&s->listeners, found);
}

static struct err *read_table(struct search *s, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/net/%s", s->q->proc, name);
    AUTO(buf_done) struct buf text = {0};
    struct err *e = file_read(path, TABLE_MAX, &text);
    struct str rest;

    if (e && err_code(e) == ERR_NOT_FOUND) { /* a kernel without IPv6 */
        err_free(e);
        return NULL;
    }
    TRY(e);
    rest = (struct str){text.at, text.size};
    while (rest.at && rest.size > 0)
        take_row(s, str_cut(&rest, '\n'));
    return NULL;
}

/* ---- the pod's processes ---- */

/* Reads "socket:[INODE]", and marks that listener as held. */
static void take_link(struct search *s, const char *target)
{
    struct str rest = str_of(target);
    int64_t inode = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (!text_starts_with(target, "socket:["))
        return;
    (void)str_cut(&rest, '[');
    e = num_parse_int64(str_cut(&rest, ']'), 1, INT64_MAX, &inode);
    for (size_t i = 0; i < s->listeners.n && !e; i++) {
        struct listener *l = &s->listeners.at[i];

        if (l->is_held || l->inode != (uint64_t)inode)
            continue;
        l->is_held = true;
        s->n_missing--;
    }
}

/* Reads the descriptors of one process; none if it has ended. */
static struct err *read_links(struct search *s, int64_t pid)
{
    AUTO_FREE char *path = mem_format("%s/%" PRId64 "/fd", s->q->proc, pid);
    DIR *dir = opendir(path);
    struct dirent *entry = NULL;
    struct err *e = NULL;

    while (dir && s->n_missing > 0 && !e && (entry = readdir(dir))) {
        char target[64];
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

        if (n > 0) {
            target[n] = '\0';
            take_link(s, target);
        }
        if (++s->n_links > LINKS_MAX)
            e = err_new(ERR_UNAVAILABLE,
                        "the pod has more than %d open files: its port cannot be found",
                        (int)LINKS_MAX);
    }
    if (dir)
        (void)closedir(dir);
    return e;
}

static struct err *read_processes(struct search *s, const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/cgroup.procs", dir);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *gone = file_read(path, PROCS_MAX, &text);
    struct str rest = {text.at, text.size};

    while (!gone && s->n_missing > 0 && rest.at && rest.size > 0) {
        int64_t pid = 0;

        TRY(num_parse_int64(str_cut(&rest, '\n'), 0, INT32_MAX, &pid));
        if (pid > 0) /* 0: in another pid namespace */
            TRY(read_links(s, pid));
    }
    return NULL;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Reads a cgroup and its children. */
static struct err *read_cgroup(struct search *s, const char *dir, int depth)
{
    char **names = NULL;
    size_t n = 0;
    struct err *e = read_processes(s, dir);
    AUTO(err_freep) struct err *gone = e ? NULL : dir_list(dir, &names, &n);

    for (size_t i = 0; i < n && !e && !gone && s->n_missing > 0; i++) {
        AUTO_FREE char *below = mem_format("%s/%s", dir, names[i]);

        if (is_directory(below) && depth < DEPTH_MAX)
            e = read_cgroup(s, below, depth + 1);
    }
    names_free(names, n);
    return e;
}

static struct err *find_holders(struct search *s)
{
    AUTO_FREE char *controllers = mem_format("%s/cgroup.controllers", s->q->cgroup_root);
    /* One v1 hierarchy is enough, as in exec_cgroup_linux.c. */
    const char *hierarchy = file_exists(controllers) ? "" : "/pids";

    s->n_missing = s->listeners.n;
    for (size_t i = 0; s->q->cgroups[i] && s->n_missing > 0; i++) {
        AUTO_FREE char *dir = mem_format("%s%s%s", s->q->cgroup_root, hierarchy, s->q->cgroups[i]);

        TRY(read_cgroup(s, dir, 0));
    }
    return NULL;
}

/* Does at least one socket take connections of the family, and is every such socket the pod's? */
static bool is_safe(const struct search *s, bool is_v4)
{
    size_t n = 0;

    for (size_t i = 0; i < s->listeners.n; i++) {
        const struct listener *l = &s->listeners.at[i];

        if (!(is_v4 ? l->takes_v4 : l->takes_v6))
            continue;
        if (!l->is_held)
            return false;
        n++;
    }
    return n > 0;
}

struct err *port_find_holder(const struct port_question *q, int *ret_family)
{
    struct search s = {.q = q};
    struct err *e = read_table(&s, "tcp");
    int family = 0;

    if (!e)
        e = read_table(&s, "tcp6");
    if (!e)
        e = find_holders(&s);
    if (!e && is_safe(&s, true))
        family = AF_INET;
    else if (!e && is_safe(&s, false))
        family = AF_INET6;
    else if (!e)
        e = err_new(ERR_NOT_FOUND, "no process of the pod listens on port %u of 127.0.0.1 or ::1",
                    (unsigned)q->port);
    vec_done(&s.listeners);
    if (!e)
        *ret_family = family;
    return e;
}
