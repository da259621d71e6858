/*
 * pmix_upcall_linux.c - what libpmix asks of the PMIx server of a step
 *
 * The functions here run in the thread of libpmix and share a pipe with the main thread, nothing
 * else: an upcall's address goes into the pipe, and the upcall belongs to the main thread then.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/slurm/pmix_private.h"
#include "slurm/pmix_message.h"

enum {
    MODULE_ROOM = 2048 /* bytes: a newer libpmix copies more functions than we know */
};

/* The functions of a module have no argument of ours. */
static int upcalls_in = -1;
static const char *upcalls_space;
static uint32_t upcalls_size;

static void upcall_send(struct pmix_upcall *taken)
{
    while (write(upcalls_in, &taken, sizeof(taken)) < 0 && errno == EINTR)
        continue;
}

static struct pmix_upcall *upcall_new(char kind, const pmix_proc_t *proc)
{
    struct pmix_upcall *u = mem_alloc(sizeof(*u));

    *u = (struct pmix_upcall){.kind = kind, .rank = proc->rank};
    return u;
}

void pmix_upcall_free(struct pmix_upcall *u)
{
    vec_done(&u->ranks);
    free(u->data);
    free(u);
}

/* An upcall whose answer is `done`, without more. */
static pmix_status_t upcall_tell(struct pmix_upcall *taken, pmix_op_cbfunc_t done, void *cbdata)
{
    taken->done = done;
    taken->cbdata = cbdata;
    upcall_send(taken);
    return PMIX_SUCCESS;
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                  void *cbdata)
{
    (void)object;
    return upcall_tell(upcall_new(PMIX_MESSAGE_CONNECTED, proc), done, cbdata);
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                  void *cbdata)
{
    (void)object;
    return upcall_tell(upcall_new(PMIX_MESSAGE_FINALIZED, proc), done, cbdata);
}

/* An abort ends all tasks of the step, whichever ones the caller names. */
/* NOLINTNEXTLINE(readability-function-size): the parameters are libpmix's */
static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status,
                              const char message[], pmix_proc_t procs[], size_t n_procs,
                              pmix_op_cbfunc_t done, void *cbdata)
{
    struct pmix_upcall *u = upcall_new(PMIX_MESSAGE_ABORT, proc);

    (void)object;
    (void)procs;
    (void)n_procs;
    u->status = status;
    u->data = mem_strdup(text_or_empty(message));
    u->size = strlen(u->data);
    return upcall_tell(u, done, cbdata);
}

/* Takes `data`. */
/* NOLINTNEXTLINE(readability-function-size): likewise */
static pmix_status_t on_fence(const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[],
                              size_t n_info, char *data, size_t size, pmix_modex_cbfunc_t modex,
                              void *cbdata)
{
    static const pmix_proc_t none = {0};
    struct pmix_upcall *u = upcall_new(PMIX_MESSAGE_FENCE, &none);
    bool is_whole = n_procs == upcalls_size;

    u->data = data;
    u->size = size;
    for (size_t i = 0; i < n_info; i++) /* a task has ended: the others must not go on as if not */
        if (strncmp(info[i].key, PMIX_LOCAL_COLLECTIVE_STATUS, PMIX_MAX_KEYLEN) == 0)
            u->status = info[i].value.data.status;
    for (size_t i = 0; i < n_procs; i++) {
        if (strcmp(procs[i].nspace, upcalls_space) != 0) {
            u->data = NULL; /* a refused fence leaves its data to libpmix */
            pmix_upcall_free(u);
            return PMIX_ERR_NOT_SUPPORTED;
        }
        is_whole = is_whole || procs[i].rank == PMIX_RANK_WILDCARD;
    }
    for (size_t i = 0; i < n_procs && !is_whole; i++)
        vec_add(&u->ranks, procs[i].rank);
    u->modex = modex;
    u->cbdata = cbdata;
    upcall_send(u);
    return PMIX_SUCCESS;
}

static pmix_status_t on_direct_modex(const pmix_proc_t *proc, const pmix_info_t info[],
                                     size_t n_info, pmix_modex_cbfunc_t modex, void *cbdata)
{
    struct pmix_upcall *u;

    if (strcmp(proc->nspace, upcalls_space) != 0 || proc->rank >= upcalls_size)
        return PMIX_ERR_NOT_FOUND;
    u = upcall_new(PMIX_MESSAGE_ASK, proc);
    for (size_t i = 0; i < n_info; i++)
        if (strncmp(info[i].key, PMIX_REQUIRED_KEY, PMIX_MAX_KEYLEN) == 0 &&
            info[i].value.type == PMIX_STRING && !u->data) {
            u->data = mem_strdup(text_or_empty(info[i].value.data.string));
            u->size = strlen(u->data);
        }
    u->modex = modex;
    u->cbdata = cbdata;
    upcall_send(u);
    return PMIX_SUCCESS;
}

/* The tasks of the step are all that may connect: no debuggers, no queries from outside. */
static void on_tool(pmix_info_t *info, size_t n_info, pmix_tool_connection_cbfunc_t done,
                    void *cbdata)
{
    (void)info;
    (void)n_info;
    done(PMIX_ERR_NOT_SUPPORTED, NULL, cbdata);
}

/* libpmix has what a task of this node has put. */
void pmix_upcall_on_asked(pmix_status_t status, char *data, size_t size, void *cbdata)
{
    static const pmix_proc_t none = {0};
    struct pmix_upcall *u = upcall_new(PMIX_MESSAGE_TELL, &none);

    u->status = status;
    u->data = size > 0 ? mem_dup(data, size) : NULL;
    u->size = size;
    u->cbdata = cbdata;
    upcall_send(u);
}

struct err *pmix_upcalls_open(int *ret_fd)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_errno(errno, "make a pipe");
    upcalls_in = fds[1];
    *ret_fd = fds[0];
    return NULL;
}

struct err *pmix_upcalls_init(const struct pmix_space *space)
{
    static union {
        pmix_server_module_t module;
        char room[MODULE_ROOM];
    } module = {{.client_connected = on_connected,
                 .client_finalized = on_finalized,
                 .abort = on_abort,
                 .fence_nb = on_fence,
                 .direct_modex = on_direct_modex,
                 .tool_connected = on_tool}};
    pmix_info_t info = {.key = PMIX_HOSTNAME, .value = {.type = PMIX_STRING}};
    AUTO_FREE char *host = mem_strdup(space->nodes.at[space->node]);

    upcalls_space = space->name;
    upcalls_size = space->size;
    info.value.data.string = host;
    return pmix_check(sym_PMIx_server_init(&module.module, &info, 1), "start PMIx");
}
