/* pod.h - one pod of this node: its state, shared by pod.c, pod_status.c, pod_start.c and pods.c */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "node/pod/events.h"
#include "node/pod/pods.h"
#include "node/pod/probes.h"
#include "node/pod/ref_watch.h"
#include "node/runtime/userns.h"
#include "node/spec/spec.h"

enum container_state {
    CONTAINER_WAITING, /* not there; to be created when its time comes */
    CONTAINER_CREATING,
    CONTAINER_CREATED,
    CONTAINER_STARTING,
    CONTAINER_RUNNING,
    CONTAINER_ENDED,
};

/* How an attempt ended. */
struct container_end {
    bool is_set;
    int64_t attempt;
    int code;
    bool is_oom;
    char *reason; /* NULL: by code */
    char *message;
    int64_t started_ns; /* realtime, 0: not known */
    int64_t finished_ns;
    bool has_usage;
    struct account_usage usage;
};

struct container {
    char *name;
    bool is_init;
    json_t *gpus; /* array of uuids */
    enum container_state state;
    int64_t attempt; /* = restart count */
    int64_t started_ns;
    int stop_signal;           /* of its image; SIGTERM otherwise */
    struct container_end end;  /* of `attempt`, in CONTAINER_ENDED */
    struct container_end last; /* of the attempt before */
    char *image_id;  /* of attempt `image_attempt`; NULL: not there yet, or the image `host` */
    char *image_ref; /* the same as the server shows it */
    int64_t image_attempt;
    struct container_pull *pull; /* under way */
    int64_t pull_backoff_ns;
    char *pull_error;        /* of the last pull; NULL: none failed */
    int64_t pull_at_ns;      /* monotonic: not again before it */
    const char *wait_reason; /* static; NULL: nothing special */
    char *wait_message;
    int64_t backoff_ns;    /* of the next restart */
    int64_t not_before_ns; /* monotonic */
    bool was_told_to_end;  /* SIGTERM sent */
    bool is_killing;       /* a kill is under way */
    int64_t kill_again_ns; /* monotonic; after SIGKILL */

    struct pod *pod;       /* set with `hook` and `probes` */
    struct action *hook;   /* postStart or preStop under way */
    struct probes *probes; /* while it runs; NULL: none */
    bool are_probes_begun;
    bool is_begun;    /* it runs, and its postStart is over */
    bool was_started; /* as told to the server before this node began anew */
    bool was_ready;
    bool is_to_end;     /* this one alone: a probe or postStart failed */
    int64_t kill_at_ns; /* monotonic; of this one alone */
    char *end_text;     /* of its Event Killing; NULL: the usual */
    bool was_announced; /* that Event */
    bool is_pre_stopped;
    int64_t term_until_ns; /* monotonic: after preStop, SIGTERM has until then */
};

enum pod_preparation {
    PREP_NONE,
    PREP_FETCHING, /* ConfigMaps and Secrets */
    PREP_MAKING,   /* in the worker */
    PREP_DONE,
    PREP_WAITING, /* failed; again later */
};

struct pod {
    struct map_handle handle;
    struct pods *set;
    char *uid;
    char *ns;
    char *name;
    json_t *object; /* newest; NULL: found here, not heard of yet */
    struct loop_timer *timer;

    uint64_t disk_round; /* the last one that it had a turn in */
    char *evicted;       /* why; NULL: it is not */
    bool has_userns;
    uint32_t uid_base;       /* of its user namespace, from its preparation on; 0 without one */
    json_t *refs;            /* fetched */
    struct refresh *refresh; /* while it runs; NULL: it shows nothing that changes */
    size_t n_fetching;
    struct err *fetch_error;
    struct preparation *prepared;
    int64_t retry_ns; /* of the preparation */
    int64_t retry_at_ns;

    struct container *containers; /* init first, in order */
    size_t n_containers;

    int64_t kill_at_ns;  /* monotonic: SIGKILL from here on */
    int64_t start_ns;    /* realtime: status.startTime */
    int64_t deadline_ns; /* monotonic; 0: none */

    json_t *status;   /* as last made */
    json_t *sending;  /* with the server now */
    int64_t quiet_ns; /* monotonic: until then a pod that is merely being made is not told about */
    struct client_call *call;
    int64_t call_retry_ns;
    int64_t call_at_ns;

    size_t n_removing; /* attempts whose removal is under way */
    int64_t remove_at_ns;

    enum pod_preparation preparation;
    bool is_gone;  /* the server has it no more */
    bool is_ended; /* its phase is final: nothing is started again */
    bool is_stopping;
    bool is_past_deadline;
    bool is_unsent;     /* the server has not acknowledged `status` */
    bool is_final_sent; /* the server acknowledged a final phase */
    bool is_deleting;   /* our DELETE is under way */
    bool is_delete_done;
    bool are_attempts_gone;
    bool is_unpreparing;
    bool is_stepping;
};

/* A ConfigMap or Secret on its way. */
struct fetch {
    struct fetch *prev;
    struct fetch *next;
    struct pods *set;
    struct client_call *call;
    char *uid;
    char *ref;
};

/* Who asked the runtime for something, by name: pod and container may be others at the answer. */
struct pending {
    struct pending *prev;
    struct pending *next;
    struct pods *set;
    char *uid;
    char *container;
    int64_t attempt;
};

struct pods_listener {
    void (*fn)(void *arg);
    void *arg;
};

struct pods {
    struct pods_options o;
    struct pod *pods;
    struct events *events;
    struct ref_watches *watches;
    struct userns_ranges *ranges;
    struct loop_timer *disk_timer; /* pod_disk.c */
    uint64_t disk_round;
    struct fetch *fetches;
    struct pending *pending;
    bool is_synced;
    VEC(struct pods_listener) listeners;
};

/* pod.c */
void pod_step(struct pod *p);
struct container *pod_container(struct pod *p, const char *name);
const json_t *pod_container_spec(const struct pod *p, const struct container *c);
bool container_is_live(const struct container *c);
void container_wait(struct container *c, const char *reason, const char *message);
void container_changed(struct pod *p, struct container *c, const struct runtime_container *found);
void pod_free(struct pod *p);
struct pending *pending_new(const struct pod *p, const struct container *c);
void pending_free(struct pending *w);
/* Frees it. The container; NULL: what it was about is no more. */
struct container *pending_take(struct pending *w, struct pod **ret_pod);
bool pod_has_ended(const struct pod *p);
char *container_id(const struct pod *p, const struct container *c, int64_t attempt);
char *pod_log_dir(const struct pod *p);
char *container_log_path(const struct pod *p, const struct container *c, int64_t attempt);
/* DATA/node/pods/UID/words/CONTAINER-ATTEMPT: what the container may write before it ends. */
char *container_words_path(const struct pod *p, const struct container *c);

/* pod_disk.c: limits of what they take of the disk */
void pods_begin_disk(struct pods *set);

/* pod_stop.c: how they are ended */
/* As the kubelet ends one for what it takes of the node. Nothing of it is started again. */
void pod_evict(struct pod *p, const char *why);
bool pod_is_deleted(const struct pod *p);
void pod_decide_stop(struct pod *p);
void pod_step_stop(struct pod *p);
void container_step_stop(struct pod *p, struct container *c);
/* From now on, with so much grace (-1: the pod's); `why` is for its Event. */
void container_end_alone(struct pod *p, struct container *c, int64_t grace_s, const char *why);
/* Monotonic: SIGKILL from here on, of one that is being ended. */
int64_t container_kill_at_ns(const struct pod *p, const struct container *c);

/* pod_live.c: hooks and probes */
void container_step_live(struct pod *p, struct container *c);
void container_remember(struct pod *p, struct container *c, const json_t *status);
void container_calm(struct container *c);
/* Its last words become the message of its end, where it has none and its pod is known. */
void container_read_words(struct pod *p, struct container *c);
/* Whether the next containers wait: this one's postStart is not over. */
bool container_holds_others(const struct pod *p, const struct container *c);
/* False: there is no such hook. */
bool container_hook_begin(struct pod *p, struct container *c, const char *name, int64_t timeout_ns,
                          action_done_fn done);
void container_hook_cancel(struct container *c);
/* Tells it, by an event and in the log. */
void container_hook_failed(struct pod *p, const struct container *c, const char *name,
                           const char *cause);

/* pod_start.c: from preparation to the runtime's create */
void pod_prepare(struct pod *p);
void preparation_free(struct preparation *p);
/* The user namespace that its containers of images have, or get. */
struct err *pod_find_userns(struct pod *p, bool *ret_has, uint32_t *ret_base) MUST_CHECK;
void fetch_free(struct fetch *f);

const char *config_reason(const struct err *e);
/* The container waits and says why; an event when that is news. */
void container_refuse(struct pod *p, struct container *c, const char *reason, const char *message);
/* NULL: it runs the image `host`. */
const char *container_image(const json_t *spec);

/* pod_volumes.c: what volumes and variables are made of */
struct env_input pod_env_input(const struct pod *p, const json_t *container);
struct err *pod_plan_volumes(const struct pod *p, uint32_t uid_base,
                             struct volumes *ret) MUST_CHECK;

/* container_image.c: true when the next attempt's image is there. Else it is being pulled, or the
 * container waits and says why. */
bool container_image_ready(struct pod *p, struct container *c);
void container_image_adopt(struct pod *p, struct container *c, const json_t *intent);
void container_image_done(struct container *c);

/* pod_refresh.c: volumes that follow what they show, while any container runs */
void pod_step_refresh(struct pod *p);
void pod_refresh_end(struct pod *p);
/* The pod's object changed, or its volumes were written past us. */
void pod_refresh_again(struct pod *p);
void pods_refresh(void *arg, const struct ref_watch *w);

/* container_create.c: from its turn to the runtime's create */
void container_create(struct pod *p, struct container *c);
/* DATA/node/pods/UID/roots/CONTAINER-ATTEMPT; the caller frees it. */
char *container_root_dir(const struct pod *p, const struct container *c, int64_t attempt);

/* pod_status.c */
void pod_status_send(struct pod *p);
void pod_delete_send(struct pod *p);
/* `terminated` of a containerStatus, back. */
void container_end_read(const json_t *terminated, struct container_end *ret);
void container_end_done(struct container_end *end);

/* pods.c */
struct pod *pods_find(struct pods *set, const char *uid);
/* The pod and container that has this gpu in use, other than `except`; NULL: nobody. */
const struct pod *pods_gpu_user(const struct pods *set, const char *uuid,
                                const struct container *except);
void pods_tell(const struct pods *set);
