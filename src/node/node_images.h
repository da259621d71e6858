/* node_images.h - the image store of a node with its own worker, as node.c uses it */
#pragma once

#include "node/pod/pods.h"
#include "node/session/uplink.h"

struct node_images;

struct node_images_options {
    struct loop *loop;
    const char *dir; /* DATA/node */
    const char *self_path;
    const char *architecture;
    void (*changed)(void *arg);
    void *arg;
};

/* After host_enter. */
struct err *node_images_new(const struct node_images_options *o,
                            struct node_images **ret) MUST_CHECK;
/* Ends work under way; no callback comes afterwards. To be called before the pods are freed. */
void node_images_stop(struct node_images *n);
void node_images_free(struct node_images *n); /* accepts NULL */

const struct image_source *node_images_source(const struct node_images *n);
/* Does the file system lack idmapped mounts, so that owners cannot be shifted? */
bool node_images_is_shift_missing(const struct node_images *n);
void node_images_serve(struct node_images *n, struct uplink *u);
void node_images_settled(struct node_images *n);
/* Node.status.images: the 50 largest images, as the kubelet reports them. A new array. */
json_t *node_images_format(const struct node_images *n);
