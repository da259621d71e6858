/*
 * mps_watch.h - NVIDIA's MPS control daemons, one for each gpu and namespace whose pods share it so
 *
 * A daemon has a folder DIR/KEY: `pipe` (CUDA_MPS_PIPE_DIRECTORY), `log`, and `shm`, which the
 * daemon and its clients see as /dev/shm. Daemons outlive this process: `daemon` names the process,
 * and the next mps_watch finds it again. A daemon that ends by itself is started again after a
 * pause; its clients fail meanwhile.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"

#define MPS_PIPE_DIR "/run/mete/mps" /* in containers */

struct mps_watch;

struct mps_watch_options {
    struct loop *loop;
    const char *self_path; /* the mete binary */
    const char *dir;       /* DATA/node/mps */
    const char *root;      /* of the machine, where the program runs; NULL: "/" */
    int64_t check_ns;      /* ready daemons are asked so often whether they answer; 0: never */
};

/* A daemon that a pod needs. Texts are borrowed. */
struct mps_wish {
    const char *gpu; /* uuid */
    const char *ns;
    int64_t memory_bytes; /* of the gpu */
    unsigned clients;     /* among which memory and compute are divided; at least 1 */
};

/* The limits of a client, and its daemon's folder. Texts are borrowed until the loop goes on. */
struct mps_client {
    const char *dir; /* with `pipe` and `shm` */
    int64_t memory_mib;
    unsigned percent; /* of the gpu's multiprocessors */
};

/* The part of each client. */
int64_t mps_client_mib(const struct mps_wish *wish);
unsigned mps_client_percent(const struct mps_wish *wish);

/* The texts are borrowed. */
struct mps_watch *mps_watch_new(const struct mps_watch_options *o);
void mps_watch_free(struct mps_watch *w); /* accepts NULL; daemons go on */

/* `fn` hears that a daemon is ready (`problem` NULL), how it ended, or that it does not answer. A
 * daemon that leaves three checks without an answer is ended, and started again. */
void mps_watch_listen(struct mps_watch *w,
                      void (*fn)(void *arg, const char *gpu, const char *ns, const char *problem),
                      void *arg);

/* The folder of a wish's daemon. The caller frees it. */
char *mps_watch_dir(const struct mps_watch *w, const struct mps_wish *wish);

/*
 * Gives a client of the daemon its limits. Starts `program` (nvidia-cuda-mps-control) where no
 * daemon runs; sets the limits anew where the wish has other ones. ERR_UNAVAILABLE: the daemon is
 * not ready yet, does not answer, or there is no program (NULL).
 */
struct err *mps_watch_take(struct mps_watch *w, const char *program, const struct mps_wish *wish,
                           struct mps_client *ret) MUST_CHECK;

/* Keeps the daemons of `wishes`, and finds those again that an earlier process started; ends all
 * others. */
void mps_watch_keep(struct mps_watch *w, const char *program, const struct mps_wish *wishes,
                    size_t n);

/* Ends the daemons of earlier processes that nobody has taken or kept. */
void mps_watch_sweep(struct mps_watch *w, const char *program);

/* Ends all daemons; then, perhaps at once, calls `fn`. */
void mps_watch_stop(struct mps_watch *w, void (*fn)(void *arg), void *arg);
