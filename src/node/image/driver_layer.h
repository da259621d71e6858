/*
 * driver_layer.h - a layer of links to the driver's tree (driver_tree.h), above the layers of one
 * image
 *
 * A link takes a tenth of a millisecond on a disk. So the node makes the links once for each pair
 * of driver and image, as the first container with both would: the layer is what that container
 * would have written. The layer lies beside the image's layers as TOP-HASH, where TOP is the
 * image's top layer, and goes with TOP.
 */
#pragma once

#include "node/image/driver_tree.h"
#include "node/image/images.h"

/* In the worker (driver_layer_linux.c): makes the layer, unless it is there. `*ret` is its name
 * below the images' layers, which the caller frees. */
struct err *driver_layer_make(const struct driver_tree *t, const struct image_root *image,
                              char **ret) MUST_CHECK;

/* The name of the image's layer with which the layer `name` goes; that of an image's own layer is
 * `name` itself. The caller frees it. */
char *driver_layer_owner(const char *name);
