// Package messages names the messages that clients send to Mete as the body of a request.
package messages

import (
	admission "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscalingold "k8s.io/api/autoscaling/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	policybeta "k8s.io/api/policy/v1beta1"
	rbac "k8s.io/api/rbac/v1"
	scheduling "k8s.io/api/scheduling/v1"
	schedulingalpha "k8s.io/api/scheduling/v1alpha3"
	schedulingbeta "k8s.io/api/scheduling/v1beta1"
	storage "k8s.io/api/storage/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Body is a message in one group version. Clients send DeleteOptions in each group version, so
// its version is empty.
type Body struct {
	Version string
	Object  runtime.Object
}

// Bodies are all of them.
var Bodies = []Body{
	{"v1", &core.Binding{}},
	{"v1", &core.ConfigMap{}},
	{"v1", &core.Endpoints{}},
	{"v1", &core.Event{}},
	{"v1", &core.LimitRange{}},
	{"v1", &core.Namespace{}},
	{"v1", &core.Node{}},
	{"v1", &core.PersistentVolume{}},
	{"v1", &core.PersistentVolumeClaim{}},
	{"v1", &core.Pod{}},
	{"v1", &core.PodTemplate{}},
	{"v1", &core.ReplicationController{}},
	{"v1", &core.ResourceQuota{}},
	{"v1", &core.Secret{}},
	{"v1", &core.Service{}},
	{"v1", &core.ServiceAccount{}},
	{"", &meta.DeleteOptions{}},
	{"admissionregistration.k8s.io/v1", &admission.MutatingWebhookConfiguration{}},
	{"admissionregistration.k8s.io/v1", &admission.ValidatingAdmissionPolicy{}},
	{"admissionregistration.k8s.io/v1", &admission.ValidatingAdmissionPolicyBinding{}},
	{"admissionregistration.k8s.io/v1", &admission.ValidatingWebhookConfiguration{}},
	{"apiextensions.k8s.io/v1", &apiextensions.CustomResourceDefinition{}},
	{"apps/v1", &apps.ControllerRevision{}},
	{"apps/v1", &apps.DaemonSet{}},
	{"apps/v1", &apps.Deployment{}},
	{"apps/v1", &apps.ReplicaSet{}},
	{"apps/v1", &apps.StatefulSet{}},
	{"authentication.k8s.io/v1", &authentication.SelfSubjectReview{}},
	{"authentication.k8s.io/v1", &authentication.TokenRequest{}},
	{"authentication.k8s.io/v1", &authentication.TokenReview{}},
	{"authorization.k8s.io/v1", &authorization.SelfSubjectAccessReview{}},
	{"authorization.k8s.io/v1", &authorization.SelfSubjectRulesReview{}},
	{"authorization.k8s.io/v1", &authorization.SubjectAccessReview{}},
	{"autoscaling/v1", &autoscalingold.HorizontalPodAutoscaler{}},
	{"autoscaling/v1", &autoscalingold.Scale{}},
	{"autoscaling/v2", &autoscaling.HorizontalPodAutoscaler{}},
	{"batch/v1", &batch.CronJob{}},
	{"batch/v1", &batch.Job{}},
	{"coordination.k8s.io/v1", &coordination.Lease{}},
	{"discovery.k8s.io/v1", &discovery.EndpointSlice{}},
	{"events.k8s.io/v1", &events.Event{}},
	{"networking.k8s.io/v1", &networking.Ingress{}},
	{"networking.k8s.io/v1", &networking.IngressClass{}},
	{"networking.k8s.io/v1", &networking.NetworkPolicy{}},
	{"node.k8s.io/v1", &node.RuntimeClass{}},
	{"policy/v1", &policy.Eviction{}},
	{"policy/v1", &policy.PodDisruptionBudget{}},
	{"policy/v1beta1", &policybeta.Eviction{}},
	{"rbac.authorization.k8s.io/v1", &rbac.ClusterRole{}},
	{"rbac.authorization.k8s.io/v1", &rbac.ClusterRoleBinding{}},
	{"rbac.authorization.k8s.io/v1", &rbac.Role{}},
	{"rbac.authorization.k8s.io/v1", &rbac.RoleBinding{}},
	{"scheduling.k8s.io/v1", &scheduling.PriorityClass{}},
	{"scheduling.k8s.io/v1alpha3", &schedulingalpha.PodGroup{}},
	{"scheduling.k8s.io/v1alpha3", &schedulingalpha.Workload{}},
	{"scheduling.k8s.io/v1beta1", &schedulingbeta.PodGroup{}},
	{"scheduling.k8s.io/v1beta1", &schedulingbeta.Workload{}},
	{"storage.k8s.io/v1", &storage.StorageClass{}},
}
