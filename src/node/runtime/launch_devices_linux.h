/* launch_devices_linux.h - the device list of a v2 cgroup, as a BPF program
 * (launch_devices_linux.c) */
#pragma once

#include "base/json.h"

/* Lets processes of the cgroup `dir_fd` reach devices by `rules`, of which the last match decides;
 * without a match a device is denied. The program lives as long as the cgroup. */
struct err *launch_devices_attach(int dir_fd, const json_t *rules) MUST_CHECK;
