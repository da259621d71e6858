/* pod.h - the state of one pod of this node, shared by the files of this folder */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "node/pod/events.h"
#include "node/pod/pod_phases.h"
#include "node/pod/pods.h"
#include "node/pod/probes.h"
#include "node/pod/ref_watch.h"
#include "node/runtime/userns.h"
#include "node/spec/spec.h"

/* The end of an attempt. */
struct container_end {
    bool is_set;
    int64_t attempt;
    int code;
    int signal;         /* as in runtime_exit */
    const char *failed; /* likewise */
    bool is_oom;
    char *reason; /* NULL: derived from the code */
    char *message;
    int64_t started_ns; /* realtime; 0: unknown */
    int64_t finished_ns;
    bool has_usage;
    struct account_usage usage;
};

struct container {
    char *name;
    bool is_init;
    bool is_ephemeral; /* added to the running pod: it holds no devices and never restarts */
    bool
        is_sidecar; /* an init container that runs beside the others; known with the pod's object */
    json_t *gpus;   /* array of uuids */
    enum container_state state;
    int64_t attempt; /* = restart count */
    int64_t started_ns;
    int stop_signal;           /* the image's STOPSIGNAL; default SIGTERM */
    struct container_end end;  /* of `attempt`, in CONTAINER_ENDED */
    struct container_end last; /* of the attempt before */
    char *image_id;  /* of attempt `image_attempt`; NULL: not pulled yet, or the image `host` */
    char *image_ref; /* the same in the form of the pod's status */
    int64_t image_attempt;
    struct container_pull *pull; /* the pull under way; NULL: none */
    int64_t pull_backoff_ns;
    char *pull_error;        /* of the last pull; NULL: no failure */
    int64_t pull_at_ns;      /* monotonic: earliest time of the next pull */
    const char *wait_reason; /* static; NULL: none */
    char *wait_message;
    int64_t backoff_ns;    /* before the next restart */
    int64_t not_before_ns; /* monotonic */
    enum container_start start;
    enum container_stop stop;
    bool is_killing;      /* a kill is under way */
    bool is_freeze_known; /* the runtime was told of: */
    bool is_frozen;
    int64_t kill_again_ns; /* monotonic: time to repeat SIGKILL */
    unsigned n_kills;      /* of the attempt */

    struct pod *pod;       /* set with `hook` and `probes` */
    struct action *hook;   /* postStart or preStop under way; NULL: none */
    struct probes *probes; /* while the container runs; NULL: none */
    bool was_started;      /* as the server knew it before a restart of the node process */
    bool was_ready;
    bool is_to_end;        /* end this container alone: a probe or postStart failed */
    int64_t kill_at_ns;    /* monotonic: SIGKILL for this container alone */
    char *end_text;        /* message of its Event Killing; NULL: the default */
    int64_t term_until_ns; /* monotonic: end of the grace for SIGTERM after preStop */
};

enum pod_preparation {
    PREP_NONE,
    PREP_FETCHING, /* ConfigMaps and Secrets */
    PREP_MAKING,   /* in the worker */
    PREP_DONE,
    PREP_WAITING, /* failed; tried again later */
};

struct pod {
    struct map_handle handle;
    struct pods *set;
    char *uid;
    char *ns;
    char *name;
    json_t *object; /* newest; NULL: found on the machine, unknown from the server yet */
    struct loop_timer *timer;

    uint64_t disk_round;    /* the last round that measured the pod */
    char *evicted;          /* why the pod is ended by the node; NULL: it is not */
    bool has_pulled;        /* an image, since the pod came to this process */
    const char *evicted_as; /* reason of the status: "Evicted", POD_GPU_LOST */
    int64_t judge_ns;       /* monotonic: the pod waits since then with its end (pod_gpu.c) */
    bool has_userns;
    uint32_t uid_base; /* of its user namespace, from the preparation on; 0: no user namespace */
    json_t *refs;      /* fetched */
    struct refresh *refresh; /* while the pod runs; NULL: no volume that can change */
    size_t n_fetching;
    struct err *fetch_error;
    struct preparation *prepared;
    int64_t retry_ns; /* of the preparation */
    int64_t retry_at_ns;

    struct container *containers; /* init first, in order; ephemeral ones last */
    size_t n_containers;
    size_t room; /* for so many, once the object is known */

    int64_t kill_at_ns;  /* monotonic: SIGKILL from then on */
    int64_t drain_to_ns; /* monotonic: until then Services lead elsewhere; 0: not begun */
    int64_t start_ns;    /* realtime: status.startTime */
    int64_t deadline_ns; /* monotonic; 0: none */
    int64_t signal_ns;   /* monotonic: when the signal before the deadline is due; 0: none */
    int signal;          /* SLURM_SIGNAL_ANNOTATION */
    bool is_signal_for_steps;
    bool is_suspended;
    bool was_suspended;  /* at some time: SLURM_SUSPENDED_ANNOTATION is there */
    int64_t suspended_s; /* before, in sum: the deadline is later by it */
    bool is_signalled;

    json_t *status;   /* as last made */
    json_t *sending;  /* the status in the patch under way */
    int64_t quiet_ns; /* monotonic: until then, a pod in creation sends no status, and a host
                       * process not that it runs */
    struct client_call *call;
    int64_t call_retry_ns;
    int64_t call_at_ns;

    size_t n_removing; /* attempts being removed */
    int64_t remove_at_ns;

    enum pod_preparation preparation;
    enum pod_life life;
    enum pod_record record;
    enum pod_removal removal;
    int64_t tolerated_ns; /* of an unreachable node, by its containers' intents */
    bool is_past_deadline;
    bool is_brief;      /* a host process that was started, which nobody was told yet */
    bool is_unsent;     /* the server has not acknowledged `status` */
    bool is_final_sent; /* the server acknowledged a final phase */
    bool is_stepping;
    bool awaits_rules; /* to be stepped when other rules of Services hold */
};

/* The fetch of one reference (refs.h). */
struct fetch {
    struct fetch *prev;
    struct fetch *next;
    struct pods *set;
    struct client_call *call;
    char *uid;
    char *ref;
};

/* The container of a runtime call, by name: the pod or container may be gone at the answer. */
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

/* A user that the worker has looked up. */
struct known_user {
    int64_t until_ns; /* monotonic; 0: the slot is empty */
    struct host_user user;
};

enum {
    KNOWN_USERS = 16
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
    struct array_jobs *array_jobs;
    struct known_user users[KNOWN_USERS]; /* by uid */
    struct pending *pending;
    struct loop_timer *fence; /* pod_fence.c; NULL: the node has no fence */
    int64_t held_to_ns;       /* of the node's lease; monotonic */
    bool is_synced;
    VEC(struct pods_listener) listeners;
};

/* pod.c */
/* The loop's monotonic time. */
static inline int64_t pod_now_ns(const struct pod *p)
{
    return loop_now_ns(p->set->o.loop);
}

void pod_step(struct pod *p);
void pod_tell_started(const struct pod *p, const struct container *c);
struct container *pod_container(struct pod *p, const char *name);
const json_t *pod_container_spec(const struct pod *p, const struct container *c);
bool container_is_live(const struct container *c);
/* Neither an init container nor an ephemeral one? */
bool container_is_main(const struct container *c);
/* The container whose devices `c` has, and whose processes it sees: an ephemeral container's
 * target; else `c`. */
const struct container *container_target(const struct pod *p, const struct container *c);
void container_wait(struct container *c, const char *reason, const char *message);
void container_changed(struct pod *p, struct container *c, const struct runtime_container *found);
void pod_free(struct pod *p);
struct pending *pending_new(const struct pod *p, const struct container *c);
void pending_free(struct pending *w);
/* Frees `w` and returns its container; NULL: the pod, container or attempt is gone. */
struct container *pending_take(struct pending *w, struct pod **ret_pod);
bool pod_has_ended(const struct pod *p);
char *container_id(const struct pod *p, const struct container *c, int64_t attempt);
char *pod_log_dir(const struct pod *p);
char *container_log_path(const struct pod *p, const struct container *c, int64_t attempt);
/* DATA/node/pods/UID/words/CONTAINER-ATTEMPT: the file of the termination message. */
char *container_words_path(const struct pod *p, const struct container *c);

/* pod_disk.c: limits of disk usage */
void pods_begin_disk(struct pods *set);

/* pod_stop.c: ending pods and containers */
/* Evicts the pod as the kubelet does under node pressure. No container of it starts again. Its
 * containers get SIGKILL after `left_ns`. */
void pod_evict(struct pod *p, const char *why, int64_t left_ns);
/* The same with another reason (a constant) of the status. */
void pod_end_as(struct pod *p, const char *reason, const char *why, int64_t left_ns);
/* terminationGracePeriodSeconds; of an unknown object the default. */
int64_t pod_grace_ns(const struct pod *p);
#define POD_EVICTION_GRACE_NS NS_PER_SEC /* as in the kubelet for local storage */
bool pod_is_deleted(const struct pod *p);
void pod_decide_stop(struct pod *p);
/* No container starts again; sidecars that live are ended. */
void pod_be_over(struct pod *p);
/* Stops the processes of a suspended pod, or lets them go on; those of a pod that ends go on. */
void pod_decide_suspend(struct pod *p);
/* Sends the signal before the deadline, once, to containers that run. */
void pod_decide_signal(struct pod *p);
/* Is the signal to be sent while the pod runs? */
bool pod_awaits_signal(const struct pod *p);
void pod_step_stop(struct pod *p);
void container_step_stop(struct pod *p, struct container *c);
/* Begins to end one container, with a grace (-1: the pod's); `why` is the message of its Event. */
void container_end_alone(struct pod *p, struct container *c, int64_t grace_s, const char *why);
/* For a container being ended: the monotonic time from which it gets SIGKILL. */
int64_t container_kill_at_ns(const struct pod *p, const struct container *c);

/* pod_live.c: hooks and probes */
void container_step_live(struct pod *p, struct container *c);
void container_remember(struct pod *p, struct container *c, const json_t *status);
void container_calm(struct container *c);
/* Makes the termination message the message of the container's end, unless the end has one or the
 * pod's object is unknown. */
void container_read_words(struct pod *p, struct container *c);
/* Must later containers wait, because the postStart of this one has not ended? */
bool container_holds_others(const struct pod *p, const struct container *c);
/* `started` of the status: false until the probes begin. */
bool container_has_started(const struct container *c);
/* False: the container has no such hook. */
bool container_hook_begin(struct pod *p, struct container *c, const char *name, int64_t timeout_ns,
                          action_done_fn done);
void container_hook_cancel(struct container *c);
/* Reports a failed hook by an Event and in the log. */
void container_hook_failed(struct pod *p, const struct container *c, const char *name,
                           const char *cause);

/* pod_start.c: from preparation to the runtime's create */
void pod_prepare(struct pod *p);
void preparation_free(struct preparation *p);
/* Finds the range of the pod's user namespace, or takes one if its containers need one. */
struct err *pod_find_userns(struct pod *p, bool *ret_has, uint32_t *ret_base) MUST_CHECK;
void fetch_free(struct fetch *f);

const char *config_reason(const struct err *e);
/* Puts the container into the waiting state with this reason; sends an Event if the reason is new.
 */
void container_refuse(struct pod *p, struct container *c, const char *reason, const char *message);
/* NULL: the image `host`. */
const char *container_image(const json_t *spec);
/* Does a container run an image? `of_spec`: other than an ephemeral one. */
bool pod_has_images(const struct pod *p, bool of_spec);

/* pod_volumes.c: input for volumes and variables */
struct env_input pod_env_input(const struct pod *p, const json_t *container);
struct err *pod_plan_volumes(const struct pod *p, uint32_t uid_base,
                             struct volumes *ret) MUST_CHECK;

/* container_image.c: is the image of the next attempt present? If not, a pull is under way, or the
 * container waits with a reason. */
bool container_image_ready(struct pod *p, struct container *c);
void container_image_adopt(struct pod *p, struct container *c, const json_t *intent);
void container_image_done(struct container *c);

/* pod_refresh.c: updates volumes of ConfigMaps, Secrets, fields and tokens while any container runs
 */
void pod_step_refresh(struct pod *p);
void pod_refresh_end(struct pod *p);
/* The pod's object changed, or its volumes were written anew by a preparation. */
void pod_refresh_again(struct pod *p);
void pods_refresh(void *arg, const struct ref_watch *w);

/* pod_host_process.c */
/* Is the pod a process of the host, started without an OCI runtime (HOST_PROCESS_ANNOTATION)? */
bool pod_is_host_process(const struct pod *p);
/* Reads the annotation, with the script; NULL: it has none. ERR_INVALID: not a pod of one container
 * of image `host`. ERR_NOT_FOUND: the pod's Slurm job is gone. The caller owns `*ret`. */
struct err *pod_host_process(const struct pod *p, json_t **ret) MUST_CHECK;
/* Is the pod a batch script in a container (BATCH_CONTAINER_ANNOTATION)? The same for pods of one
 * container of an image. */
bool pod_is_batch(const struct pod *p);
struct err *pod_batch(const struct pod *p, json_t **ret) MUST_CHECK;
/* The uid of the user of this machine whose script it is; NO_HOST_USER: another pod. */
struct err *pod_batch_owner(const struct pod *p, uid_t *ret) MUST_CHECK;
/* The file with the output of one of these pods, as the user named it; NULL: none. The caller frees
 * it. */
char *pod_output_path(const struct pod *p);

/* container_create.c: from the container's turn to the runtime's create */
void container_create(struct pod *p, struct container *c);
/* DATA/node/pods/UID/roots/CONTAINER-ATTEMPT; the caller frees it. */
char *container_root_dir(const struct pod *p, const struct container *c, int64_t attempt);

/* pod_network.c */
/* Has the pod the network that it asks for? If not, it is being made, or the containers wait with a
 * reason. */
bool pod_network_ready(struct pod *p);
void pod_network_end(struct pod *p);
/* Do Services still lead new connections to the pod? Then the pod is stepped when they no longer
 * do.
 */
bool pod_takes_connections(struct pod *p);
/* Has the pod a network of its own, made or not? */
bool pod_has_network(const struct pod *p);
/* The path of the pod's network namespace; NULL: the machine's. The caller frees it. */
char *pod_netns(const struct pod *p);
/* The pod's address, or the machine's; NULL: not known yet. Borrowed. */
const char *pod_address(const struct pod *p);
/* The caller frees it. */
char *pod_hostname(const struct pod *p);

/* pod_share.c. DATA/node/pods/UID/share; the caller frees it. */
char *pod_share_dir(const struct pod *p);
/* Plans the files of the pod's capped shares. */
struct err *pod_plan_share(const struct pod *p, struct share_files *ret) MUST_CHECK;
bool pod_has_shares(const struct pod *p);
/* Tells on_shares which pods have shares now. */
void pods_tell_shares(const struct pods *set);

/* pod_gpu.c */
/* Ends a pod whose gpu is lost, or that failed on a gpu that is unhealthy: as GpuLost. */
void pod_decide_gpu(struct pod *p);
/* Must the end of a pod that failed wait until its gpus were read again? */
bool pod_awaits_gpus(struct pod *p);
/* Must the end of a pod that lost its gpu wait until the server knows of the gpu? */
bool pod_awaits_report(struct pod *p);
#define POD_GPUS_LOOK_NS (200 * NS_PER_MS) /* between looks at the readings */

/* pod_mps.c */
struct container_devices;
/* Makes a container with such a replica a client. ERR_UNAVAILABLE: the daemon is not ready yet. */
struct err *pod_edit_mps(const struct pod *p, const struct container_devices *devices,
                         json_t *edits) MUST_CHECK;
/* Keeps the daemons that pods use; ends all others. */
void pods_keep_mps(const struct pods *set);

/* pod_status.c */
void pod_status_send(struct pod *p);
void pod_delete_send(struct pod *p);
/* Reads `terminated` of a containerStatus. */
void container_end_read(const json_t *terminated, struct container_end *ret);
void container_end_done(struct container_end *end);

/* pods.c */
struct pod *pods_find(struct pods *set, const char *uid);
void pods_tell(const struct pods *set);
