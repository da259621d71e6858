/* views_start.c - why a bound pod does not run: its image, its configuration or its crashes */
#include "base/mem.h"
#include "control/report/views.h"
#include "kinds/pod/pod_state.h"

struct start_cause {
    const char *waiting; /* the container's reason in the state `waiting` */
    const char *code;
    const char *advice;
};

static const char advice_pull[] =
    "look at the image's name, the registry and imagePullSecrets; `mete image pull IMAGE` tries "
    "at once, `mete image import FILE IMAGE` brings the image from a file";
static const char advice_create[] =
    "correct the field that the message names, in a new job; `mete doctor` looks at the machine";

static const struct start_cause start_causes[] = {
    {"ErrImagePull", "ImagePullFailed", advice_pull},
    {"ImagePullBackOff", "ImagePullFailed", advice_pull},
    {"ErrImageNeverPull", "ImageNotFound",
     "`mete image import FILE IMAGE` brings the image, and the pod starts by itself; or let it be "
     "pulled: imagePullPolicy IfNotPresent"},
    {"InvalidImageName", "InvalidImageName", "correct the image's name, in a new job"},
    {"CreateContainerConfigError", "ConfigNotFound",
     "create the object that the message names, and the pod starts by itself"},
    {"CreateContainerError", "ContainerNotCreated", advice_create},
    {"RunContainerError", "ContainerNotCreated", advice_create},
    {"CrashLoopBackOff", "CrashLoop", "`mete logs JOB --previous` shows the last output"},
};

static const struct start_cause *cause_find(const char *waiting)
{
    for (size_t i = 0; i < COUNT(start_causes); i++)
        if (text_equal(start_causes[i].waiting, waiting))
            return &start_causes[i];
    return NULL;
}

/*
 * "container main ended with exit code 3 and was restarted 4 times: back-off 40s ..." The caller
 * frees it.
 */
static char *start_message(const json_t *container, const struct start_cause *cause)
{
    const json_t *waiting = json_at(container, "state", "waiting", NULL);
    const json_t *last = json_at(container, "lastState", "terminated", NULL);
    const char *name = json_text(container, "name");
    const char *told = json_text(waiting, "message");
    const char *text = told && told[0] ? told : cause->waiting;

    if (text_equal(cause->code, "CrashLoop") && last)
        return mem_format("container %s ended with exit code %" JSON_INTEGER_FORMAT
                          " and was restarted %" JSON_INTEGER_FORMAT " times: %s",
                          name ? name : "", (json_int_t)json_int(last, "exitCode", -1),
                          (json_int_t)json_int(container, "restartCount", 0), text);
    return mem_format("container %s: %s", name ? name : "", text);
}

/* Members of a scheduler's reason without a meaning here are null or empty. */
static json_t *start_tree(const json_t *pod, const json_t *container,
                          const struct start_cause *cause)
{
    static const char *const unknown[] = {"since", "evaluatedAt", "position", "queueLength",
                                          "estimate"};
    static const char *const lists[] = {"blocking", "nodes", "wouldStartIf"};
    AUTO_FREE char *message = start_message(container, cause);
    json_t *o = json_object();

    json_put_text(o, "code", cause->code);
    json_put_text(o, "class", "yours");
    json_put(o, "message", json_text_new(message));
    for (size_t i = 0; i < COUNT(lists); i++)
        (void)json_array_at(o, lists[i]); /* created empty */
    json_put_int(o, "nodesLeftOut", 0);
    for (size_t i = 0; i < COUNT(unknown); i++)
        json_put(o, unknown[i], json_null());
    json_put(o, "container", json_text_new(json_text(container, "name")));
    json_put(o, "image", json_text_new(json_text(container, "image")));
    json_put(o, "node", json_text_new(pod_node(pod)));
    json_put_text(o, "advice", cause->advice);
    return o;
}

json_t *views_start_reason(const json_t *pod)
{
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};

    for (size_t n = 0; n < COUNT(lists); n++) {
        json_t *container;
        size_t i;

        json_array_foreach (json_at(pod, "status", lists[n], NULL), i, container) {
            const char *waiting = json_text_at(container, "state", "waiting", "reason", NULL);
            const struct start_cause *cause = cause_find(waiting);

            if (cause)
                return start_tree(pod, container, cause);
        }
    }
    return NULL;
}
