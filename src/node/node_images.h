/* node_images.h - what node.c has of images: the store with a worker of its own, and its doors */
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
/* No callback comes after it, and what is under way ends. Before the pods are freed. */
void node_images_stop(struct node_images *n);
void node_images_free(struct node_images *n); /* accepts NULL */

const struct image_source *node_images_source(const struct node_images *n);
/* The file system cannot shift owners. */
bool node_images_is_shift_missing(const struct node_images *n);
void node_images_serve(struct node_images *n, struct uplink *u);
void node_images_settled(struct node_images *n);
/* For Node.status.images: as the kubelet, the 50 largest. A new array. */
json_t *node_images_format(const struct node_images *n);
