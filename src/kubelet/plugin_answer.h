/*
 * plugin_answer.h - what a container gets with its devices (Allocate), as NVIDIA's plugin says it
 *
 * The ways to name the devices are those of its setting deviceListStrategy; several may be chosen.
 * https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "kubelet/deviceplugin.pb-c.h"
#include "kubelet/plugin_devices.h"

enum plugin_strategy {
    PLUGIN_ENVVAR = 1,          /* NVIDIA_VISIBLE_DEVICES, for the runtime `nvidia` */
    PLUGIN_VOLUME_MOUNTS = 2,   /* mounts below /var/run/nvidia-container-devices */
    PLUGIN_CDI_ANNOTATIONS = 4, /* for engines that read CDI names of annotations */
    PLUGIN_CDI_CRI = 8          /* the field cdi_devices, kubelet 1.28 and later */
};

/* The kind of the devices in Mete's own CDI file: a file of NVIDIA's tools may be there, too. */
#define PLUGIN_CDI_KIND "mete.dev/gpu"

/* A value. */
struct plugin_settings {
    unsigned strategies; /* of enum plugin_strategy */
    bool is_by_index;    /* deviceIDStrategy: index */
};

/*
 * Reads flags.plugin of a document of NVIDIA's plugin, version v1: deviceListStrategy (a text,
 * texts with commas, or a list), deviceIDStrategy. Without them: cdi-cri, uuid. Texts of warnings
 * are added to `warnings`. ERR_INVALID names the member.
 */
struct err *plugin_settings_parse(const json_t *document, json_t *warnings,
                                  struct plugin_settings *ret) MUST_CHECK;

/*
 * Answers for one container. ERR_INVALID: an unknown device; ERR_UNAVAILABLE: a device that is not
 * healthy, or more than one replica where only one may be asked for. The answer is in the arena.
 */
struct err *plugin_answer(struct arena *a, const struct plugin_resource *r,
                          const struct plugin_settings *settings,
                          const V1beta1__ContainerAllocateRequest *request,
                          V1beta1__ContainerAllocateResponse **ret) MUST_CHECK;
