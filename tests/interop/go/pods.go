package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/remotecommand"
)

// script makes a pod that runs a shell script, and waits until it is in the phase.
func script(w *world, name, text string, phase core.PodPhase) error {
	pod := &core.Pod{ObjectMeta: named(name), Spec: core.PodSpec{RestartPolicy: core.RestartPolicyNever,
		Containers: []core.Container{{Name: "main", Image: "host", Command: []string{"sh", "-c", text}}}}}
	if _, err := w.client.CoreV1().Pods(w.ns).Create(w.ctx, pod, meta.CreateOptions{}); err != nil {
		return err
	}
	return w.reach(name, phase)
}

func (w *world) reach(name string, phase core.PodPhase) error {
	return w.until("pod "+name+" is "+string(phase), func() (bool, error) {
		pod, err := w.client.CoreV1().Pods(w.ns).Get(w.ctx, name, meta.GetOptions{})
		return err == nil && pod.Status.Phase == phase, err
	})
}

func logs(w *world) error {
	if err := script(w, "go-logs", "echo first; echo second", core.PodSucceeded); err != nil {
		return err
	}
	stream, err := w.client.CoreV1().Pods(w.ns).GetLogs("go-logs", &core.PodLogOptions{Follow: true}).Stream(w.ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	text, err := io.ReadAll(stream)
	if err == nil && string(text) != "first\nsecond\n" {
		err = fmt.Errorf("%q", text)
	}
	return err
}

func execute(w *world) error {
	if err := script(w, "go-exec", "sleep 1000", core.PodRunning); err != nil {
		return err
	}
	url := w.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(w.ns).Name("go-exec").SubResource("exec").
		VersionedParams(&core.PodExecOptions{Command: []string{"cat"}, Stdin: true, Stdout: true}, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewWebSocketExecutor(w.config, "GET", url.String())
	if err != nil {
		return err
	}
	var out bytes.Buffer
	options := remotecommand.StreamOptions{Stdin: strings.NewReader("said\n"), Stdout: &out}
	err = executor.StreamWithContext(w.ctx, options)
	if err == nil && out.String() != "said\n" {
		err = fmt.Errorf("%q", out.String())
	}
	return err
}

func evict(w *world) error {
	if err := script(w, "go-evicted", "sleep 1000", core.PodRunning); err != nil {
		return err
	}
	grace := int64(0)
	err := w.client.CoreV1().Pods(w.ns).EvictV1(w.ctx, &policy.Eviction{ObjectMeta: meta.ObjectMeta{Namespace: w.ns, Name: "go-evicted"},
		DeleteOptions: &meta.DeleteOptions{GracePeriodSeconds: &grace}})
	if err != nil {
		return err
	}
	return w.until("the evicted pod goes", func() (bool, error) {
		_, err := w.client.CoreV1().Pods(w.ns).Get(w.ctx, "go-evicted", meta.GetOptions{})
		if errors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// bind binds a pod to a node, as a scheduler does.
func bind(w *world) error {
	nodes, err := w.client.CoreV1().Nodes().List(w.ctx, meta.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		return fmt.Errorf("%d nodes: %w", len(nodes.Items), err)
	}
	pods := w.client.CoreV1().Pods(w.ns)
	pod := &core.Pod{ObjectMeta: named("go-bound"), Spec: core.PodSpec{RestartPolicy: core.RestartPolicyNever, SchedulerName: "another",
		Containers: []core.Container{{Name: "main", Image: "host", Command: []string{"true"}}}}}
	if _, err := pods.Create(w.ctx, pod, meta.CreateOptions{}); err != nil {
		return err
	}
	err = pods.Bind(w.ctx, &core.Binding{ObjectMeta: meta.ObjectMeta{Namespace: w.ns, Name: "go-bound"},
		Target: core.ObjectReference{Kind: "Node", Name: nodes.Items[0].Name}}, meta.CreateOptions{})
	if err != nil {
		return err
	}
	return w.reach("go-bound", core.PodSucceeded)
}

// patchMetadata writes with a metadata-only client.
func patchMetadata(w *world) error {
	metas, err := metadata.NewForConfig(w.config)
	if err != nil {
		return err
	}
	if _, err := w.client.CoreV1().ConfigMaps(w.ns).Create(w.ctx, &core.ConfigMap{ObjectMeta: named("go-meta")}, meta.CreateOptions{}); err != nil {
		return err
	}
	c := metas.Resource(configMaps).Namespace(w.ns)
	o, err := c.Patch(w.ctx, "go-meta", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), meta.PatchOptions{})
	if err != nil || o.Labels["a"] != "b" {
		return fmt.Errorf("%v: %w", o, err)
	}
	if err := c.Delete(w.ctx, "go-meta", meta.DeleteOptions{}); err != nil {
		return err
	}
	return c.DeleteCollection(w.ctx, meta.DeleteOptions{}, meta.ListOptions{LabelSelector: "a=b"})
}

func init() {
	claims = append(claims, claim{"logs", logs}, claim{"exec", execute}, claim{"evict", evict}, claim{"bind", bind},
		claim{"patch-metadata", patchMetadata})
}
