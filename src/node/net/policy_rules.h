/*
 * policy_rules.h - the text of the nftables rules that enforce NetworkPolicies: plain functions
 *
 * A pod that a policy selects has a chain for each direction that the policy restricts: a packet
 * that no rule of its policies allows is dropped. Pods with the same policies share a chain. Rules
 * see packets behind the translation of Services, so addresses and ports are those of pods.
 *
 * Replies, and packets of connections that were allowed when they began, always pass. So does what
 * the machine itself sends to a pod (probes), and what a pod sends to itself through a Service.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "model/ip4.h"

#define POLICY_CHAIN "policies"  /* to be called for packets of and to pods */
#define EGRESS_MAP   "egress-of" /* from a pod's address to its chain */
#define INGRESS_MAP  "ingress-of"

/* A pod of this node, or what stands for one. */
struct policy_pod {
    const char *address;
    const json_t *facts; /* net_facts */
};

struct policy_input {
    const json_t *const *policies_at; /* for policy_rules_format: in a fixed order */
    size_t n_policies;
    const json_t *namespaces;         /* "/NAME" → Namespace */
    const struct policy_pod *pods_at; /* sorted by address */
    size_t n_pods;
};

/*
 * Adds the chains to `out`, of the table `table` ("ip mete"), and to `elements` what refers to them
 * in the table's maps EGRESS_MAP and INGRESS_MAP (ipv4_addr : verdict). `names` gets the names of
 * the chains ("chain"), except POLICY_CHAIN, which always is there.
 */
void policy_rules_format(const struct policy_input *in, const char *table, struct buf *out,
                         struct buf *elements, json_t *names);
