/*
 * boot.h - objects that every cluster has: the namespaces default, kube-system, kube-public and
 * kube-node-lease, and the system priority classes
 */
#pragma once

#include "base/loop.h"
#include "kinds/object/objects.h"

struct boot;

struct boot_options {
    struct loop *loop;
    struct objects *objects; /* borrowed, outlives this, with its store */
    /* Called once, when all objects are durable, never from inside boot_new. May be NULL. */
    void (*on_ready)(void *arg);
    void *arg;
};

/* Retries each second while the disk is full. */
struct err *boot_new(const struct boot_options *o, struct boot **ret) MUST_CHECK;
void boot_free(struct boot *b); /* accepts NULL; before the store */
