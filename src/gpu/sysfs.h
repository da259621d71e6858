/*
 * sysfs.h - values of small files below the kernel's directory /sys, or a recorded copy of it
 * (sysfs_linux.c)
 *
 * `sys` is that directory. A file that is missing, empty, or no text of the wanted form is an
 * unknown value: drivers and kernels differ in the files that they have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "model/gpu.h"

/* The file's text; NULL: unknown. The caller frees it. */
char *sysfs_read(const char *sys, const char *format, ...) PRINTF(2, 3);

/* The first line without blanks around it; false: unknown, or too long, then `ret` is "". */
bool sysfs_text(char *ret, size_t size, const char *sys, const char *format, ...) PRINTF(4, 5);

/* A number in decimal or, as in files about PCI, with "0x" in front; -1: unknown or negative. */
int64_t sysfs_number(const char *sys, const char *format, ...) PRINTF(2, 3);

/* The number in the line "NAME NUMBER" of a text; `unknown`: there is none. */
uint64_t sysfs_property(const char *text, const char *name, uint64_t unknown);

/* The last part of a link's target: the driver's name for DEVICE/driver. */
bool sysfs_link(char *ret, size_t size, const char *sys, const char *format, ...) PRINTF(4, 5);

/* A card of the kernel's graphics system, class/drm/card0. */
struct sysfs_card {
    unsigned card;   /* minor of /dev/dri/card<N> */
    int render;      /* minor of /dev/dri/renderD<N>; -1: none */
    int vendor;      /* of PCI; -1: no PCI device */
    char device[64]; /* directory of the device, below `sys` */
};

enum {
    SYSFS_CARDS_MAX = 128
};

/* Lists up to SYSFS_CARDS_MAX cards in the order of their numbers. */
size_t sysfs_cards(const char *sys, struct sysfs_card *ret);

/* Fills what files of every PCI device say: address, ids, class, NUMA node, nearest CPUs. False:
 * `device` is not there. */
bool sysfs_read_pci(const char *sys, const char *device, struct gpu *g);

/* Adds the nodes /dev/dri/card<N> and /dev/dri/renderD<N>. */
void sysfs_add_nodes(const struct sysfs_card *card, struct gpu *g);

/* The limit of the device's power in mW; -1: unknown. */
int64_t sysfs_power_limit(const char *sys, const char *device);

/* A sample of which only the time is known. */
struct gpu_sample sysfs_sample(const char *uuid);
/* Fills temperatures, power, energy and clocks of a sample from the device's hwmon directory. */
void sysfs_read_sensors(const char *sys, const char *device, struct gpu_sample *s);
