package main

import (
	"context"
	"fmt"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// operator is a typical controller: each Job gets a ConfigMap that it owns, an
// annotation and an event.
type operator struct {
	client.Client
	events record.EventRecorder
}

func (o *operator) Reconcile(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	var job batch.Job
	if err := o.Get(ctx, r.NamespacedName, &job); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if job.Labels["operator"] != "go" {
		return ctrl.Result{}, nil
	}
	config := &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, o.Client, config, func() error {
		config.Data = map[string]string{"job": string(job.UID)}
		return controllerutil.SetControllerReference(&job, config, o.Scheme())
	})
	if err != nil || job.Annotations["reconciled"] == "yes" {
		return ctrl.Result{}, err
	}
	o.events.Eventf(&job, "Normal", "Reconciled", "the ConfigMap was %s", result)
	before := job.DeepCopy()
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Annotations["reconciled"] = "yes"
	if err := o.Patch(ctx, &job, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return ctrl.Result{}, err
	}
	job.Spec.Suspend = ptr.To(false)
	return ctrl.Result{}, o.Update(ctx, &job)
}

// annotator watches pods by their metadata only.
type annotator struct {
	client.Client
}

func (a *annotator) Reconcile(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	pod := &meta.PartialObjectMetadata{}
	pod.SetGroupVersionKind(core.SchemeGroupVersion.WithKind("Pod"))
	if err := a.Get(ctx, r.NamespacedName, pod); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if pod.Annotations["annotated"] == "yes" || pod.Labels["operator"] != "go" {
		return ctrl.Result{}, nil
	}
	before := pod.DeepCopy()
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations["annotated"] = "yes"
	return ctrl.Result{}, client.IgnoreNotFound(a.Patch(ctx, pod, client.MergeFrom(before)))
}

func start(w *world) error {
	log.SetLogger(zap.New())
	m, err := ctrl.NewManager(w.config, ctrl.Options{
		Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionID: "go-operator", LeaderElectionNamespace: w.ns, LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	jobs := &operator{m.GetClient(), m.GetEventRecorderFor("go-operator")} //nolint:staticcheck // what most programs use
	if err := ctrl.NewControllerManagedBy(m).For(&batch.Job{}).Owns(&core.ConfigMap{}).Complete(jobs); err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(m).For(&core.Pod{}, builder.OnlyMetadata).Complete(&annotator{m.GetClient()}); err != nil {
		return err
	}
	go func() {
		if err := m.Start(w.ctx); err != nil {
			fmt.Println("the manager ended:", err)
		}
	}()
	return nil
}

func operate(w *world) error {
	if err := start(w); err != nil {
		return err
	}
	spec := sleeper
	spec.NodeSelector = nil
	spec.Containers = []core.Container{{Name: "main", Image: "host", Command: []string{"true"}}}
	labels := map[string]string{"operator": "go"}
	jobs := w.client.BatchV1().Jobs(w.ns)
	_, err := jobs.Create(w.ctx, &batch.Job{
		ObjectMeta: meta.ObjectMeta{Name: "go-operated", Labels: labels},
		Spec: batch.JobSpec{Suspend: ptr.To(true), Template: core.PodTemplateSpec{
			ObjectMeta: meta.ObjectMeta{Labels: labels}, Spec: spec}},
	}, meta.CreateOptions{})
	if err != nil {
		return err
	}
	err = w.until("the operated job completes", func() (bool, error) {
		job, err := jobs.Get(w.ctx, "go-operated", meta.GetOptions{})
		return err == nil && job.Status.Succeeded == 1 && job.Annotations["reconciled"] == "yes", err
	})
	if err != nil {
		return err
	}
	config, err := w.client.CoreV1().ConfigMaps(w.ns).Get(w.ctx, "go-operated", meta.GetOptions{})
	if err != nil || len(config.OwnerReferences) != 1 {
		return fmt.Errorf("%v: %w", config, err)
	}
	err = w.until("its pod is annotated", func() (bool, error) {
		pods, err := w.client.CoreV1().Pods(w.ns).List(w.ctx, meta.ListOptions{LabelSelector: "operator=go"})
		return err == nil && len(pods.Items) == 1 && pods.Items[0].Annotations["annotated"] == "yes", err
	})
	if err != nil {
		return err
	}
	return w.until("its event", func() (bool, error) {
		list, err := w.client.CoreV1().Events(w.ns).List(w.ctx, meta.ListOptions{FieldSelector: "reason=Reconciled"})
		return err == nil && len(list.Items) > 0, err // after a conflict there is one more
	})
}

func init() {
	claims = append(claims, claim{"operator", operate})
}
