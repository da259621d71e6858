/* tables.h - the tables of all kinds, each from its own file */
#pragma once

#include "kinds/kind/kind.h"

extern const struct kind kind_budget;
extern const struct kind kind_definition;
extern const struct kind kind_claim;
extern const struct kind kind_claim_template;
extern const struct kind kind_clusterpolicy;
extern const struct kind kind_configmap;
extern const struct kind kind_cronjob;
extern const struct kind kind_controllerrevision;
extern const struct kind kind_daemonset;
extern const struct kind kind_deployment;
extern const struct kind kind_device_class;
extern const struct kind kind_event;
extern const struct kind kind_event_new;
extern const struct kind kind_gang;
extern const struct kind kind_gang_v1alpha1;
extern const struct kind kind_gang_v1alpha2;
extern const struct kind kind_gang_v1alpha3;
extern const struct kind kind_gpu;
extern const struct kind kind_job;
extern const struct kind kind_limits;
extern const struct kind kind_lease;
extern const struct kind kind_namespace;
extern const struct kind kind_node;
extern const struct kind kind_node_metrics;
extern const struct kind kind_pod;
extern const struct kind kind_pod_metrics;
extern const struct kind kind_podgroup;
extern const struct kind kind_podgroup_v1alpha1;
extern const struct kind kind_podgroup_v1alpha2;
extern const struct kind kind_podgroup_v1alpha3;
extern const struct kind kind_podgroup_coscheduling;
extern const struct kind kind_podgroup_volcano;
extern const struct kind kind_priority;
extern const struct kind kind_queue;
extern const struct kind kind_quota;
extern const struct kind kind_replicaset;
extern const struct kind kind_reservation;
extern const struct kind kind_secret;
extern const struct kind kind_slice;
extern const struct kind kind_slurmconfig;
extern const struct kind kind_slurmjob;
extern const struct kind kind_slurmqos;
extern const struct kind kind_slurmuser;
extern const struct kind kind_slurmstep;
extern const struct kind kind_slurmpartition;
extern const struct kind kind_statefulset;
extern const struct kind kind_self_access_review;
extern const struct kind kind_serviceaccount;
extern const struct kind kind_access_review;
extern const struct kind kind_rules_review;
extern const struct kind kind_self_review;
extern const struct kind kind_token_review;
extern const struct kind kind_workload;
