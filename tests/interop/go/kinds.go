package main

import (
	"context"
	"fmt"
	"reflect"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	policy "k8s.io/api/policy/v1"
	scheduling "k8s.io/api/scheduling/v1"
	schedulingbeta "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// typed is the interface of the typed client of each kind.
type typed[T, L any] interface {
	Create(context.Context, T, meta.CreateOptions) (T, error)
	Update(context.Context, T, meta.UpdateOptions) (T, error)
	Patch(context.Context, string, types.PatchType, []byte, meta.PatchOptions, ...string) (T, error)
	Get(context.Context, string, meta.GetOptions) (T, error)
	List(context.Context, meta.ListOptions) (L, error)
	Watch(context.Context, meta.ListOptions) (watch.Interface, error)
	Delete(context.Context, string, meta.DeleteOptions) error
}

type withStatus[T any] interface {
	UpdateStatus(context.Context, T, meta.UpdateOptions) (T, error)
}

type object interface {
	meta.Object
	runtime.Object
}

// follow reads a watch until the object is deleted, and returns the types that it saw.
func follow(w *world, events watch.Interface) ([]watch.EventType, error) {
	var seen []watch.EventType
	for {
		select {
		case e, ok := <-events.ResultChan():
			if !ok || e.Type == watch.Error {
				return seen, fmt.Errorf("the watch ended after %v: %v", seen, e.Object)
			}
			seen = append(seen, e.Type)
			if e.Type == watch.Deleted {
				return seen, nil
			}
		case <-w.ctx.Done():
			return seen, fmt.Errorf("the watch told %v", seen)
		}
	}
}

// again reads and writes the object until no controller has written in between.
func again[T object, L any](w *world, c typed[T, L], name string, write func(T) error) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		o, err := c.Get(w.ctx, name, meta.GetOptions{})
		if err != nil {
			return err
		}
		return write(o)
	})
}

// change writes the object in each way that clients offer.
func change[T object, L any](w *world, c typed[T, L], name string) error {
	o, err := c.Get(w.ctx, name, meta.GetOptions{})
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	hasStatus := reflect.ValueOf(o).Elem().FieldByName("Status").IsValid()
	if s, ok := any(c).(withStatus[T]); ok && hasStatus { // generated clients have the method in any case
		if err := again(w, c, name, func(o T) error { _, err := s.UpdateStatus(w.ctx, o, meta.UpdateOptions{}); return err }); err != nil {
			return fmt.Errorf("update of the status: %w", err)
		}
	}
	err = again(w, c, name, func(o T) error {
		o.SetAnnotations(map[string]string{"by": "update"})
		made, err := c.Update(w.ctx, o, meta.UpdateOptions{})
		if err == nil && made.GetAnnotations()["by"] != "update" {
			err = fmt.Errorf("answered %v", made.GetAnnotations())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	patches := []struct {
		by   types.PatchType
		text string
	}{
		{types.MergePatchType, `{"metadata":{"annotations":{"by":"merge"}}}`},
		{types.StrategicMergePatchType, `{"metadata":{"annotations":{"by":"strategic"}}}`},
		{types.JSONPatchType, `[{"op":"replace","path":"/metadata/annotations/by","value":"json"}]`},
	}
	for _, p := range patches {
		if _, err = c.Patch(w.ctx, name, p.by, []byte(p.text), meta.PatchOptions{}); err != nil {
			return fmt.Errorf("patch of type %s: %w", p.by, err)
		}
	}
	if o, err = c.Get(w.ctx, name, meta.GetOptions{}); err != nil || o.GetAnnotations()["by"] != "json" {
		return fmt.Errorf("after the patches: %v: %w", o.GetAnnotations(), err)
	}
	return nil
}

// lifecycle creates an object, changes, lists and deletes it, beside a watch.
func lifecycle[T object, L runtime.Object](w *world, c typed[T, L], o T) error {
	one := meta.ListOptions{LabelSelector: "claim=" + o.GetName()}
	o.SetLabels(map[string]string{"claim": o.GetName()})
	changes, err := c.Watch(w.ctx, one)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer changes.Stop()
	made, err := c.Create(w.ctx, o, meta.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if made.GetUID() == "" || made.GetLabels()["claim"] != o.GetName() {
		return fmt.Errorf("create: answered %v", made)
	}
	if err := change(w, c, o.GetName()); err != nil {
		return err
	}
	list, err := c.List(w.ctx, one)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if n, err := length(list); err != nil || n != 1 {
		return fmt.Errorf("list: %d objects: %w", n, err)
	}
	wrong := meta.DeleteOptions{Preconditions: meta.NewUIDPreconditions("other")}
	if err := c.Delete(w.ctx, o.GetName(), wrong); !errors.IsConflict(err) {
		return fmt.Errorf("delete of another uid: %v", err)
	}
	right := meta.DeleteOptions{
		Preconditions:     meta.NewUIDPreconditions(string(made.GetUID())),
		PropagationPolicy: ptr.To(meta.DeletePropagationBackground),
	}
	if err := c.Delete(w.ctx, o.GetName(), right); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	seen, err := follow(w, changes)
	if err == nil && (seen[0] != watch.Added || len(seen) < 4) {
		err = fmt.Errorf("the watch told %v", seen)
	}
	return err
}

func length(list runtime.Object) (int, error) {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(list)
	if err != nil {
		return 0, err
	}
	items, _ := u["items"].([]any)
	return len(items), nil
}

func named(name string) meta.ObjectMeta {
	return meta.ObjectMeta{Name: name}
}

var sleeper = core.PodSpec{
	RestartPolicy: core.RestartPolicyNever,
	NodeSelector:  map[string]string{"none": "has-this"},
	Containers: []core.Container{{
		Name: "main", Image: "host", Command: []string{"sleep", "60"},
		Resources: core.ResourceRequirements{Limits: core.ResourceList{"cpu": resource.MustParse("100m")}},
	}},
}

func everyKind(w *world) error {
	v1, now := w.client.CoreV1(), meta.NowMicro()
	about := core.ObjectReference{Kind: "Pod", Name: "p", Namespace: w.ns, APIVersion: "v1"}
	gang := schedulingbeta.PodGroupSchedulingPolicy{Gang: &schedulingbeta.GangSchedulingPolicy{MinCount: 2}}
	template := core.PodTemplateSpec{Spec: sleeper}
	steps := []struct {
		kind string
		err  error
	}{
		{"ConfigMap", lifecycle(w, v1.ConfigMaps(w.ns), &core.ConfigMap{ObjectMeta: named("go-map"),
			Data: map[string]string{"a": "b"}, BinaryData: map[string][]byte{"c": {0, 255}}})},
		{"Secret", lifecycle(w, v1.Secrets(w.ns), &core.Secret{ObjectMeta: named("go-secret"),
			Data: map[string][]byte{"c": {0, 255}}})},
		{"ServiceAccount", lifecycle(w, v1.ServiceAccounts(w.ns), &core.ServiceAccount{ObjectMeta: named("go-account")})},
		{"Pod", lifecycle(w, v1.Pods(w.ns), &core.Pod{ObjectMeta: named("go-pod"), Spec: sleeper})},
		{"Event", lifecycle(w, v1.Events(w.ns), &core.Event{ObjectMeta: named("go-event"), InvolvedObject: about,
			Reason: "Tried", Message: "from Go", Type: "Normal", FirstTimestamp: meta.Now(), LastTimestamp: meta.Now(), Count: 1})},
		{"events.k8s.io Event", lifecycle(w, w.client.EventsV1().Events(w.ns), &events.Event{ObjectMeta: named("go-new-event"),
			Regarding: about, Reason: "Tried", Note: "from Go", Type: "Normal", EventTime: now, Action: "Trying",
			ReportingController: "mete.dev/clients", ReportingInstance: "clients-0"})},
		{"LimitRange", lifecycle(w, v1.LimitRanges(w.ns), &core.LimitRange{ObjectMeta: named("go-limits"),
			Spec: core.LimitRangeSpec{Limits: []core.LimitRangeItem{{Type: core.LimitTypeContainer,
				Max: core.ResourceList{"cpu": resource.MustParse("64")}}}}})},
		{"ResourceQuota", lifecycle(w, v1.ResourceQuotas(w.ns), &core.ResourceQuota{ObjectMeta: named("go-quota"),
			Spec: core.ResourceQuotaSpec{Hard: core.ResourceList{"pods": resource.MustParse("100")}}})},
		{"Namespace", lifecycle(w, v1.Namespaces(), &core.Namespace{ObjectMeta: named("go-namespace")})},
		{"Node", lifecycle(w, v1.Nodes(), &core.Node{ObjectMeta: named("go-node"), Spec: core.NodeSpec{Unschedulable: true}})},
		{"Job", lifecycle(w, w.client.BatchV1().Jobs(w.ns), &batch.Job{ObjectMeta: named("go-job"),
			Spec: batch.JobSpec{Suspend: ptr.To(true), Template: template}})},
		{"CronJob", lifecycle(w, w.client.BatchV1().CronJobs(w.ns), &batch.CronJob{ObjectMeta: named("go-cron"),
			Spec: batch.CronJobSpec{Schedule: "@yearly", JobTemplate: batch.JobTemplateSpec{Spec: batch.JobSpec{Template: template}}}})},
		{"Lease", lifecycle(w, w.client.CoordinationV1().Leases(w.ns), &coordination.Lease{ObjectMeta: named("go-lease"),
			Spec: coordination.LeaseSpec{HolderIdentity: ptr.To("go"), RenewTime: &now}})},
		{"PodDisruptionBudget", lifecycle(w, w.client.PolicyV1().PodDisruptionBudgets(w.ns), &policy.PodDisruptionBudget{
			ObjectMeta: named("go-budget"), Spec: policy.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromString("50%")),
				Selector: &meta.LabelSelector{MatchLabels: map[string]string{"app": "none"}}}})},
		{"PriorityClass", lifecycle(w, w.client.SchedulingV1().PriorityClasses(), &scheduling.PriorityClass{
			ObjectMeta: named("go-priority"), Value: -7})},
		{"PodGroup", lifecycle(w, w.client.SchedulingV1beta1().PodGroups(w.ns), &schedulingbeta.PodGroup{
			ObjectMeta: named("go-group"), Spec: schedulingbeta.PodGroupSpec{SchedulingPolicy: gang}})},
	}
	for _, s := range steps {
		if s.err != nil {
			return fmt.Errorf("%s: %w", s.kind, s.err)
		}
	}
	return nil
}

func questions(w *world) error {
	rights, who := w.client.AuthorizationV1(), w.client.AuthenticationV1()
	asked := &authorization.ResourceAttributes{Namespace: w.ns, Verb: "create", Resource: "pods"}
	self, err := rights.SelfSubjectAccessReviews().Create(w.ctx, &authorization.SelfSubjectAccessReview{
		Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: asked}}, meta.CreateOptions{})
	if err != nil || !self.Status.Allowed {
		return fmt.Errorf("SelfSubjectAccessReview: %v: %w", self, err)
	}
	other, err := rights.SubjectAccessReviews().Create(w.ctx, &authorization.SubjectAccessReview{
		Spec: authorization.SubjectAccessReviewSpec{ResourceAttributes: asked, User: "nobody",
			Extra: map[string]authorization.ExtraValue{"a": {"b"}}}}, meta.CreateOptions{})
	if err != nil || other.Status.Allowed {
		return fmt.Errorf("SubjectAccessReview: %v: %w", other, err)
	}
	if _, err = rights.SelfSubjectRulesReviews().Create(w.ctx, &authorization.SelfSubjectRulesReview{
		Spec: authorization.SelfSubjectRulesReviewSpec{Namespace: w.ns}}, meta.CreateOptions{}); err != nil {
		return fmt.Errorf("SelfSubjectRulesReview: %w", err)
	}
	me, err := who.SelfSubjectReviews().Create(w.ctx, &authentication.SelfSubjectReview{}, meta.CreateOptions{})
	if err != nil || me.Status.UserInfo.Username == "" {
		return fmt.Errorf("SelfSubjectReview: %v: %w", me, err)
	}
	token, err := w.client.CoreV1().ServiceAccounts(w.ns).CreateToken(w.ctx, "default", &authentication.TokenRequest{
		Spec: authentication.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(3600))}}, meta.CreateOptions{})
	if err != nil {
		return fmt.Errorf("TokenRequest: %w", err)
	}
	whose, err := who.TokenReviews().Create(w.ctx, &authentication.TokenReview{
		Spec: authentication.TokenReviewSpec{Token: token.Status.Token}}, meta.CreateOptions{})
	if err != nil || whose.Status.User.Username != "system:serviceaccount:"+w.ns+":default" {
		return fmt.Errorf("TokenReview: %v: %w", whose, err)
	}
	return nil
}

func deleteCollection(w *world) error {
	maps, all := w.client.CoreV1().ConfigMaps(w.ns), meta.ListOptions{LabelSelector: "claim=many"}
	for _, name := range []string{"go-many-1", "go-many-2"} {
		o := &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"claim": "many"}}}
		if _, err := maps.Create(w.ctx, o, meta.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := maps.DeleteCollection(w.ctx, meta.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}, all); err != nil {
		return err
	}
	left, err := maps.List(w.ctx, all)
	if err == nil && len(left.Items) > 0 {
		err = fmt.Errorf("%d are left", len(left.Items))
	}
	return err
}

func init() {
	claims = append(claims, claim{"every-kind", everyKind}, claim{"questions", questions}, claim{"delete-collection", deleteCollection})
}
