/* data_dir_linux.c - the data directory of a machine */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/digest.h"
#include "access/node_credentials.h"
#include "access/pki.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/role/data_dir.h"
#include "cli/role/start_room.h"
#include "model/names.h"

enum {
    NODES_FILE_MAX = 1 << 20,
    FIXED_UID = 64321,
    TOKEN_BYTES = 32,
    PATH_ROOM = 80,
    SOCKET_PATH_MAX = 107
};

static struct err *set_owner(const char *path, uid_t uid, gid_t gid, mode_t mode)
{
    if (lchown(path, uid, gid) < 0)
        return err_errno(errno, "chown %s to uid %d", path, (int)uid);
    if (chmod(path, mode) < 0)
        return err_errno(errno, "set the mode of %s", path);
    return NULL;
}

static struct err *make_dir(const char *path, gid_t gid, mode_t mode)
{
    struct stat st;

    TRY(dir_make(path, mode));
    if (lstat(path, &st) < 0)
        return err_errno(errno, "stat %s", path);
    if (!S_ISDIR(st.st_mode))
        return err_new(ERR_INVALID, "%s is not a directory", path);
    return set_owner(path, 0, gid, mode);
}

static void find_user(struct data_dir *d)
{
    const struct passwd *user = getpwnam("mete"); /* NOLINT(concurrency-mt-unsafe): one thread */

    d->uid = user ? user->pw_uid : FIXED_UID;
    d->gid = user ? user->pw_gid : FIXED_UID;
}

static struct err *read_pid(const char *dir, pid_t *ret)
{
    AUTO_FREE char *path = mem_format("%s/up.pid", dir);
    struct buf b = {0};
    struct err *e = file_read(path, PATH_ROOM, &b);
    int64_t pid = 0;

    if (!e)
        e = num_parse_int64((struct str){.at = b.at, .size = strcspn(b.at, "\n")}, 1, INT32_MAX,
                            &pid);
    buf_done(&b);
    *ret = (pid_t)pid;
    return e;
}

/* Tries to take the lock, without waiting. False: another process holds the lock. */
static struct err *try_lock(int fd, const char *path, bool *ret_is_ours)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *ret_is_ours = true;
        return NULL;
    }
    *ret_is_ours = false;
    return errno == EWOULDBLOCK ? NULL : err_errno(errno, "lock %s", path);
}

static struct err *held_by_other(const char *dir)
{
    pid_t pid = 0;
    AUTO(err_freep) struct err *e = read_pid(dir, &pid);

    if (e)
        return err_new(ERR_CONFLICT, "%s is in use by another mete", dir);
    return err_new(ERR_CONFLICT, "%s is in use by another mete, pid %d", dir, (int)pid);
}

static struct err *take_lock(struct data_dir *d)
{
    AUTO_FREE char *path = mem_format("%s/lock", d->path);
    AUTO_FREE char *pid_path = mem_format("%s/up.pid", d->path);
    AUTO_FREE char *pid = mem_format("%d\n", (int)getpid());
    bool is_ours = false;

    d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d->lock_fd < 0)
        return err_errno(errno, "open %s", path);
    TRY(try_lock(d->lock_fd, path, &is_ours));
    if (!is_ours)
        return held_by_other(d->path);
    start_room_give(d->path);
    return file_write(pid_path, 0644, str_of(pid));
}

/*
 * Waits for children that a killed `mete up` left. The lifeline ends them, but not at once; before
 * their end there would be two nodes for the same containers and two servers for the same store.
 */
static struct err *wait_for_children(struct data_dir *d)
{
    AUTO_FREE char *path = mem_format("%s/children", d->path);
    bool is_ours = false;

    d->children_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d->children_fd < 0)
        return err_errno(errno, "open %s", path);
    TRY(try_lock(d->children_fd, path, &is_ours));
    if (is_ours)
        return NULL;
    LOG(INFO, "waiting for the child processes of the previous mete");
    while (flock(d->children_fd, LOCK_EX) < 0)
        if (errno != EINTR)
            return err_errno(errno, "lock %s", path);
    return NULL;
}

static struct err *open_data_dir(struct data_dir *d)
{
    if (geteuid() != 0)
        return err_new(ERR_FORBIDDEN, "up starts containers and must run as root, not as uid %d",
                       (int)geteuid());
    if (strlen(d->socket) > SOCKET_PATH_MAX)
        return err_new(ERR_INVALID,
                       "data directory \"%s\": the path is too long for a socket: at most %d bytes",
                       d->path, SOCKET_PATH_MAX - (int)strlen("/mete.sock"));
    find_user(d);
    TRY(make_dir(d->path, 0, 0711));
    TRY(take_lock(d));
    TRY(wait_for_children(d));
    TRY(make_dir(d->server, d->gid, 01770));
    TRY(make_dir(d->pki, d->gid, 0750));
    return make_dir(d->node, 0, 0711);
}

/* Returns an absolute path: children and containers have other working directories. */
static char *data_dir_absolute(const char *path)
{
    AUTO_FREE char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    char *whole = here ? mem_format("%s/%s", here, path) : mem_strdup(path);

    while (strlen(whole) > 1 && text_ends_with(whole, "/"))
        whole[strlen(whole) - 1] = '\0';
    return whole;
}

struct err *data_dir_open(const char *path, struct data_dir *ret)
{
    struct data_dir d = {.path = data_dir_absolute(path), .lock_fd = -1, .children_fd = -1};
    struct err *e;

    d.server = mem_format("%s/server", d.path);
    d.pki = mem_format("%s/server/pki", d.path);
    d.node = mem_format("%s/node", d.path);
    d.socket = mem_format("%s/mete.sock", d.path);
    e = open_data_dir(&d);
    if (e) {
        data_dir_done(&d);
        return e;
    }
    *ret = d;
    return NULL;
}

void data_dir_done(struct data_dir *d)
{
    fd_close(d->lock_fd);
    fd_close(d->children_fd);
    free(d->path);
    free(d->server);
    free(d->pki);
    free(d->node);
    free(d->socket);
    *d = (struct data_dir){.lock_fd = -1, .children_fd = -1};
}

struct err *data_dir_holder(const char *path, pid_t *ret)
{
    AUTO_FREE char *dir = data_dir_absolute(path);
    AUTO_FREE char *lock = mem_format("%s/lock", dir);
    AUTO(fd_closep) int fd = open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_ours = false;

    *ret = 0;
    if (fd < 0 && errno == ENOENT)
        return NULL;
    if (fd < 0)
        return err_errno(errno, "open %s", lock);
    TRY(try_lock(fd, lock, &is_ours));
    return is_ours ? NULL : read_pid(dir, ret);
}

/* Gives the files that the server reads to its group; keys that the server never needs stay root's.
 */
static struct err *share_pki(const struct data_dir *d)
{
    static const struct {
        const char *name;
        mode_t mode;
        bool is_servers;
    } files[] = {
        {"ca.crt", 0644, true},     {"ca.key", 0600, false},    {"server.crt", 0640, true},
        {"server.key", 0640, true}, {"admin.crt", 0600, false}, {"admin.key", 0600, false},
        {"sa.key", 0640, true},     {"nodes.crt", 0640, true},  {"nodes.key", 0640, true},
    };

    for (size_t i = 0; i < COUNT(files); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", d->pki, files[i].name);

        TRY(set_owner(path, 0, files[i].is_servers ? d->gid : 0, files[i].mode));
    }
    return NULL;
}

static struct err *make_token(const struct data_dir *d, char **ret)
{
    AUTO_FREE char *path = mem_format("%s/token", d->node);
    struct buf token = {0};
    uint8_t bytes[TOKEN_BYTES];
    struct err *e = file_read(path, PATH_ROOM + (size_t)2 * TOKEN_BYTES, &token);

    if (!e && token.size >= (size_t)2 * TOKEN_BYTES) {
        token.at[strcspn(token.at, "\r\n")] = '\0';
        *ret = buf_steal(&token);
        return NULL;
    }
    buf_done(&token);
    if (e && err_code(e) != ERR_NOT_FOUND)
        return e;
    err_free(e);
    random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        buf_printf(&token, "%02x", bytes[i]);
    e = file_write_durable(path, 0600, (struct str){.at = token.at, .size = token.size});
    *ret = buf_steal(&token);
    return e;
}

/* Writes the digest of the node's token: the server's files do not let their reader act as the
 * node. */
static struct err *publish_token(const struct data_dir *d, const char *token, const char *node_name)
{
    AUTO_FREE char *path = mem_format("%s/nodes.yaml", d->path);
    AUTO(buf_done) struct buf text = {0};
    AUTO_FREE char *changed = NULL;
    uint8_t digest[SHA256_SIZE];
    struct err *e = file_read(path, NODES_FILE_MAX, &text);

    if (e && err_code(e) != ERR_NOT_FOUND)
        return e;
    err_free(e);
    digest_sha256(str_of(token), digest);
    /* NOLINTNEXTLINE(readability-suspicious-call-argument): the file's name is for messages */
    TRY(node_credentials_set(path, (struct str){.at = text.at ? text.at : "", .size = text.size},
                             node_name, digest, &changed));
    if (changed)
        TRY(file_write_durable(path, 0640, str_of(changed)));
    return set_owner(path, 0, d->gid, 0640);
}

static struct err *write_kubeconfig(const struct data_dir *d, const char *host, unsigned port)
{
    AUTO_FREE char *path = mem_format("%s/kubeconfig", d->path);
    AUTO_FREE char *url =
        mem_format(strchr(host, ':') ? "https://[%s]:%u" : "https://%s:%u", host, port);
    AUTO_FREE char *text = NULL;

    TRY(pki_kubeconfig(d->pki, url, &text));
    return file_write(path, 0600, str_of(text));
}

struct err *data_dir_identities(const struct data_dir *d, const struct data_dir_address *at,
                                const char *node_name)
{
    AUTO_FREE char *token = NULL;

    TRY(pki_make(d->pki, at->host, at->others));
    TRY(share_pki(d));
    TRY(write_kubeconfig(d, at->host, at->port));
    TRY(make_token(d, &token));
    return publish_token(d, token, node_name);
}

struct err *node_name_make(char **ret)
{
    char name[256] = {0};
    struct err *e;

    if (gethostname(name, sizeof(name) - 1) < 0)
        return err_errno(errno, "read the host name");
    for (char *at = name; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    e = name_check_subdomain(name);
    if (e)
        return err_wrap(e, "the host name \"%s\" is not a valid node name", name);
    *ret = mem_strdup(name);
    return NULL;
}
