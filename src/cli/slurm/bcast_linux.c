/* bcast_linux.c - copies of a file to the nodes of a job, by a shell there that reads its input */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/job/remote_session.h"
#include "cli/slurm/bcast.h"
#include "cli/term/text_escape.h"
#include "client/remote.h"

enum {
    PIECE = 64 << 10,
    BACKLOG_MAX = 512 << 10,
    WORDS_MAX = 4 << 10 /* bytes of a node's message */
};

/* $1 file, $2 bytes, $3 mode, $4 "new": it must not exist, $5 and $6 times: empty: now. The file
 * has its name once it is whole. */
static const char copy_script[] =
    "t=\"$1.sbcast.$$\"; umask 077; "
    "if [ \"$4\" = new ] && [ -e \"$1\" ]; then echo 'sbcast: File exists' >&2; exit 1; fi; "
    "set -C; exec 3>\"$t\" || exit 1; set +C; trap 'rm -f -- \"$t\"' EXIT; "
    "head -c \"$2\" >&3 && [ \"$(wc -c <\"$t\")\" -eq \"$2\" ] || "
    "{ echo 'the copy is not whole' >&2; exit 1; }; "
    "chmod \"$3\" -- \"$t\" && { [ -z \"$5\" ] || "
    "{ touch -m -d \"@$5\" -- \"$t\" && touch -a -d \"@$6\" -- \"$t\"; }; } && "
    "if [ \"$4\" = new ]; then ln -T -- \"$t\" \"$1\"; else mv -fT -- \"$t\" \"$1\"; fi";

struct bcast_run;

struct bcast_node {
    struct bcast_run *run;
    const char *name;
    struct remote *remote;
    off_t sent;
    bool is_sent; /* also the end */
    struct buf words;
};

struct bcast_run {
    struct slurm_command *s;
    const struct bcast *b;
    struct stat file;
    int fd;
    struct bcast_node *nodes;
    size_t n_nodes;
    size_t n_over;
    bool has_failed;
    struct err *failed; /* the source cannot be read */
};

static void bcast_on_output(void *arg, int fd, struct str bytes)
{
    struct bcast_node *n = arg;

    if (fd == 2)
        buf_add(&n->words, bytes.at, bytes.size);
}

/* The last part of "sh: 1: cannot create x: File exists". */
static const char *last_words(struct bcast_node *n)
{
    const char *at;

    while (n->words.size > 0 && n->words.at[n->words.size - 1] == '\n')
        n->words.at[--n->words.size] = '\0';
    at = n->words.size > 0 ? strrchr(n->words.at, ':') : NULL;
    return at && at[1] == ' ' ? at + 2 : text_or_empty(n->words.at);
}

static void bcast_on_end(void *arg, const struct err *e, int code)
{
    struct bcast_node *n = arg;
    struct bcast_run *r = n->run;

    if (e)
        slurm_say(r->s, "REQUEST_FILE_BCAST(%s): %s", n->name, err_message(e));
    else if (code != 0)
        slurm_say(r->s, "REQUEST_FILE_BCAST(%s): %s", n->name, last_words(n));
    r->has_failed = r->has_failed || e || code != 0;
    n->is_sent = true;
    r->n_over++;
    if (r->n_over == r->n_nodes)
        session_stop(r->s->session);
}

static void bcast_send(struct bcast_node *n)
{
    struct bcast_run *r = n->run;
    char piece[PIECE];

    while (!n->is_sent && remote_backlog(n->remote) < BACKLOG_MAX) {
        ssize_t size = pread(r->fd, piece, sizeof(piece), n->sent);

        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && !r->failed) {
            r->failed = err_errno(errno, "Can't read `%s'", r->b->source);
            session_stop(r->s->session);
        }
        if (size <= 0 || n->sent >= r->file.st_size) {
            remote_send_end(n->remote);
            n->is_sent = true;
            return;
        }
        remote_send(n->remote, (struct str){piece, (size_t)size});
        n->sent += size;
    }
}

static void bcast_on_drain(void *arg)
{
    bcast_send(arg);
}

static struct err *bcast_open(struct bcast_node *n, const json_t *row)
{
    struct bcast_run *r = n->run;
    AUTO_FREE char *begin =
        path_format("/api/v1/namespaces/%s/pods/%s/exec?stdin=true&stdout=true&stderr=true",
                    r->b->ns, text_or_empty(json_text(row, "pod")));
    AUTO_FREE char *size = mem_format("%" PRId64, (int64_t)r->file.st_size);
    AUTO_FREE char *mode = mem_format("%o", (unsigned)(r->file.st_mode & 0777));
    AUTO_FREE char *changed = mem_format("%" PRId64, (int64_t)r->file.st_mtime);
    AUTO_FREE char *read = mem_format("%" PRId64, (int64_t)r->file.st_atime);
    bool keeps = r->b->keeps_times;
    const char *const words[] = {"sh",
                                 "-c",
                                 copy_script,
                                 "sbcast",
                                 r->b->target,
                                 size,
                                 mode,
                                 r->b->replaces ? "" : "new",
                                 keeps ? changed : "",
                                 keeps ? read : ""};
    AUTO(buf_done) struct buf path = {0};
    struct remote_options o = {
        .on_output = bcast_on_output, .on_drain = bcast_on_drain, .on_end = bcast_on_end, .arg = n};

    buf_add_text(&path, begin);
    for (size_t i = 0; i < COUNT(words); i++)
        remote_path_command(&path, words[i]);
    o.path = path.at;
    TRY(remote_open(session_client(r->s->session), &o, &n->remote));
    bcast_send(n);
    return NULL;
}

static struct err *bcast_begin(struct bcast_run *r)
{
    r->fd = open(r->b->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (r->fd < 0 || fstat(r->fd, &r->file) < 0)
        return err_errno(errno, "Can't open `%s'", r->b->source);
    if (!S_ISREG(r->file.st_mode))
        return err_new(ERR_INVALID, "Can't open `%s': not a file", r->b->source);
    for (size_t i = 0; i < r->n_nodes; i++) {
        const json_t *row = json_array_get(r->b->nodes, i);

        r->nodes[i] = (struct bcast_node){
            .run = r, .name = text_or_empty(json_text(row, "node")), .words = {.cap = WORDS_MAX}};
        TRY(bcast_open(&r->nodes[i], row));
    }
    return NULL;
}

struct err *bcast_run(struct slurm_command *s, const struct bcast *b, bool *ret_failed)
{
    struct bcast_run r = {.s = s, .b = b, .fd = -1, .n_nodes = json_array_size(b->nodes)};
    struct err *e;

    r.nodes = mem_alloc((r.n_nodes + 1) * sizeof(*r.nodes));
    e = bcast_begin(&r);
    if (!e && r.n_nodes > 0)
        e = session_run(s->session);
    if (!e)
        e = TAKE(r.failed);
    if (!e && r.n_over < r.n_nodes)
        e = err_new(ERR_TIMEOUT, "the copy was interrupted, or took too long");
    for (size_t i = 0; i < r.n_nodes; i++) {
        remote_free(r.nodes[i].remote);
        buf_done(&r.nodes[i].words);
    }
    err_free(r.failed);
    free(r.nodes);
    fd_close(r.fd);
    *ret_failed = r.has_failed;
    return e;
}

char *bcast_target(const char *cwd, const char *source, const char *target)
{
    const char *slash = strrchr(source, '/');
    const char *name = text_ends_with(target, "/") ? slash ? slash + 1 : source : "";

    return *target == '/' ? mem_format("%s%s", target, name)
                          : mem_format("%s/%s%s", cwd, target, name);
}
