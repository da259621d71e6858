/* kubelet_dir.h - watches the directory of a kubelet's sockets (kubelet_dir_linux.c) */
#pragma once

#include "base/loop.h"

struct kubelet_dir;

/*
 * Calls `on_change` when a name in the directory comes or goes, and every few seconds: a kubelet
 * may replace the directory itself. The directory need not exist yet.
 */
struct err *kubelet_dir_new(struct loop *loop, const char *path, void (*on_change)(void *arg),
                            void *arg, struct kubelet_dir **ret) MUST_CHECK;
void kubelet_dir_free(struct kubelet_dir *d); /* accepts NULL */
