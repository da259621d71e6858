/*
 * pod_resources.h - who has which gpu of this machine, as its kubelet says
 *
 * The kubelet limits the rate of the question: ask rarely, and keep the answer. It names pods of
 * which some have ended.
 */
#pragma once

#include "base/loop.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/gpu.h"

/* A container's hold on a gpu or MIG instance. */
struct pod_resource {
    char *ns;
    char *pod;
    char *container;
    char uuid[GPU_TEXT_SIZE];
};

struct pod_resource_list {
    VEC(struct pod_resource) all;
};

void pod_resource_list_done(struct pod_resource_list *l);

/*
 * Reads a ListPodResourcesResponse: ids of device plugins ("UUID", "UUID::2") and devices of Mete's
 * own CDI kind. Other devices are left out. `ret` is {0} before. ERR_INVALID: malformed.
 */
struct err *pod_resource_list_parse(struct str message, struct pod_resource_list *ret) MUST_CHECK;

struct pod_resources;

struct pod_resources_options {
    struct loop *loop;
    const char *kubelet_dir; /* "/var/lib/kubelet" */
    /* The answer, or why there is none; both borrowed. The callback may free the object. */
    void (*answered)(void *arg, const struct err *e, const struct pod_resource_list *list);
    void *arg;
};

struct pod_resources *pod_resources_new(const struct pod_resources_options *o);
void pod_resources_free(struct pod_resources *p); /* accepts NULL */

/* Asks the kubelet; a question under way is enough. */
void pod_resources_ask(struct pod_resources *p);
