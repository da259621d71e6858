/*
 * gpu_peers.h - how a gpu reaches the other gpus of its machine, as a text: "NV18:1-3 SYS:4-7"
 *
 * Each connection is there once, with the indices of the gpus at its other end. Connections have
 * the names of NVIDIA's tools: NV<count> by so many NVLinks; else the farthest part of the way:
 * XGMI by Infinity Fabric of AMD; PIX a PCIe switch, PXB several PCIe switches, PHB a host bridge,
 * NODE the links within a NUMA node, SYS the links between NUMA nodes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    GPU_PEERS_SIZE = 160,
    GPU_CONNECTION_SIZE = 16
};

/*
 * Formats the connections of one gpu to the gpus 0 to `n` - 1; "": unknown, or the gpu itself.
 * `ret` is "" if the text would be longer than GPU_PEERS_SIZE.
 */
void gpu_peers_format(const char (*connections)[GPU_CONNECTION_SIZE], size_t n,
                      char ret[GPU_PEERS_SIZE]);

/* The connection to the gpu `index`. False: the text does not have it. */
bool gpu_peers_find(const char *peers, size_t index, char ret[GPU_CONNECTION_SIZE]);
