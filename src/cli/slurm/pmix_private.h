/* pmix_private.h - the parts of the PMIx server of a step on a node */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "cli/slurm/pmix_linux.h"

/* The step and its tasks, as PMIX_MESSAGE_SETUP names them. Texts are borrowed from the document.
 */
struct pmix_space {
    json_t *document; /* owned */
    pmix_nspace_t name;
    const char *job;
    uint32_t size; /* ranks of the step */
    size_t node;   /* the place of this one in the lists */
    VEC(const char *) nodes;
    VEC(uint32_t) owners;      /* of each rank: the place of its node */
    VEC(uint32_t) local_ranks; /* of each rank: its place on its node */
    VEC(uint32_t) ranks;       /* of this node, ascending */
};

/* Reads the document. ERR_INVALID: it is malformed. `*ret`, which must be empty, changes on success
 * only. */
struct err *pmix_space_read(struct str text, struct pmix_space *ret) MUST_CHECK;
/* Tells libpmix of the step and of its tasks on this node. */
struct err *pmix_space_register(const struct pmix_space *s) MUST_CHECK;
void pmix_space_done(struct pmix_space *s);

/* NULL: `status` is success. */
struct err *pmix_check(pmix_status_t status, const char *what) MUST_CHECK;

/* A request of libpmix, or its answer to one. */
struct pmix_upcall {
    char kind; /* of the message */
    uint32_t rank;
    uint32_t number; /* of PMIX_MESSAGE_ASK */
    pmix_status_t status;
    char *data; /* owned */
    size_t size;
    VEC(uint32_t) ranks;   /* of a fence; none: all */
    pmix_op_cbfunc_t done; /* one of these is the answer */
    pmix_modex_cbfunc_t modex;
    void *cbdata;
};

/* pmix_upcall_linux.c: upcalls come as pointers through `*ret_fd`; the reader owns them. */
struct err *pmix_upcalls_open(int *ret_fd) MUST_CHECK;
/* Starts libpmix, for the tasks of this space alone. */
struct err *pmix_upcalls_init(const struct pmix_space *space) MUST_CHECK;
/* A callback of PMIx_server_dmodex_request: PMIX_MESSAGE_TELL with `cbdata`. */
void pmix_upcall_on_asked(pmix_status_t status, char *data, size_t size, void *cbdata);
void pmix_upcall_free(struct pmix_upcall *u);
