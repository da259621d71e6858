package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// A notebook keeps an informer's calls about objects whose names begin with "seen-".
type notebook struct {
	sync.Mutex
	lines []string
}

func (n *notebook) write(what string, o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	m, ok := o.(meta.Object)
	if !ok || m.GetName() != "seen-by-informers" {
		return
	}
	n.Lock()
	defer n.Unlock()
	n.lines = append(n.lines, what+" "+m.GetAnnotations()["step"])
}

func (n *notebook) handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { n.write("add", o) },
		UpdateFunc: func(_, o any) { n.write("update", o) },
		DeleteFunc: func(o any) { n.write("delete", o) },
	}
}

func (n *notebook) has(line string) bool {
	n.Lock()
	defer n.Unlock()
	return slices.Contains(n.lines, line)
}

// observe runs informers during the life of a ConfigMap.
func observe(w *world, watchers map[string]cache.SharedIndexInformer) error {
	books := map[string]*notebook{}
	for name, informer := range watchers {
		books[name] = &notebook{}
		if _, err := informer.AddEventHandler(books[name].handler()); err != nil {
			return err
		}
		go informer.Run(w.ctx.Done())
	}
	for name, informer := range watchers {
		if !cache.WaitForCacheSync(w.ctx.Done(), informer.HasSynced) {
			return fmt.Errorf("the %s informer does not sync", name)
		}
	}
	maps := w.client.CoreV1().ConfigMaps(w.ns)
	o := &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "seen-by-informers", Annotations: map[string]string{"step": "1"}}}
	o, err := maps.Create(w.ctx, o, meta.CreateOptions{})
	if err != nil {
		return err
	}
	if err := await(w, books, "add 1"); err != nil {
		return err
	}
	o.Annotations["step"] = "2"
	if _, err := maps.Update(w.ctx, o, meta.UpdateOptions{}); err != nil {
		return err
	}
	if err := await(w, books, "update 2"); err != nil {
		return err
	}
	if err := maps.Delete(w.ctx, o.Name, meta.DeleteOptions{}); err != nil {
		return err
	}
	return await(w, books, "delete 2")
}

func await(w *world, books map[string]*notebook, line string) error {
	for name, book := range books {
		if err := w.until("the "+name+" informer: "+line, func() (bool, error) { return book.has(line), nil }); err != nil {
			return err
		}
	}
	return nil
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func informersSee(w *world) error {
	objects, err := dynamic.NewForConfig(w.config)
	if err != nil {
		return err
	}
	metas, err := metadata.NewForConfig(w.config)
	if err != nil {
		return err
	}
	resync := 10 * time.Hour
	return observe(w, map[string]cache.SharedIndexInformer{
		"typed":    informers.NewSharedInformerFactory(w.client, resync).Core().V1().ConfigMaps().Informer(),
		"dynamic":  dynamicinformer.NewDynamicSharedInformerFactory(objects, resync).ForResource(configMaps).Informer(),
		"metadata": metadatainformer.NewSharedInformerFactory(metas, resync).ForResource(configMaps).Informer(),
	})
}

// everyInformer syncs a typed informer of each kind that it can watch.
func everyInformer(w *world) error {
	f := informers.NewSharedInformerFactory(w.client, 0)
	all := []cache.SharedIndexInformer{
		f.Core().V1().Pods().Informer(), f.Core().V1().Nodes().Informer(), f.Core().V1().Events().Informer(),
		f.Core().V1().Namespaces().Informer(), f.Core().V1().Secrets().Informer(), f.Core().V1().ServiceAccounts().Informer(),
		f.Core().V1().ResourceQuotas().Informer(), f.Core().V1().LimitRanges().Informer(), f.Batch().V1().Jobs().Informer(),
		f.Batch().V1().CronJobs().Informer(), f.Coordination().V1().Leases().Informer(), f.Events().V1().Events().Informer(),
		f.Policy().V1().PodDisruptionBudgets().Informer(), f.Scheduling().V1().PriorityClasses().Informer(),
	}
	f.Start(w.ctx.Done())
	for i, informer := range all {
		if !cache.WaitForCacheSync(w.ctx.Done(), informer.HasSynced) {
			return fmt.Errorf("informer %d does not sync", i)
		}
	}
	nodes, err := f.Core().V1().Nodes().Lister().List(labels.Everything())
	if err == nil && len(nodes) == 0 {
		err = fmt.Errorf("the node informer has no node")
	}
	return err
}

func dynamicObjects(w *world) error {
	objects, err := dynamic.NewForConfig(w.config)
	if err != nil {
		return err
	}
	queues := objects.Resource(schema.GroupVersionResource{Group: "mete.dev", Version: "v1", Resource: "queues"})
	queue := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "mete.dev/v1", "kind": "Queue", "metadata": map[string]any{"name": "go"},
		"spec": map[string]any{"weight": int64(3)},
	}}
	if queue, err = queues.Create(w.ctx, queue, meta.CreateOptions{}); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(queue.Object, int64(4), "spec", "weight"); err != nil {
		return err
	}
	if queue, err = queues.Update(w.ctx, queue, meta.UpdateOptions{}); err != nil {
		return err
	}
	if weight, _, err := unstructured.NestedInt64(queue.Object, "spec", "weight"); err != nil || weight != 4 {
		return fmt.Errorf("weight %d: %w", weight, err)
	}
	return queues.Delete(w.ctx, "go", meta.DeleteOptions{})
}

func metadataOnly(w *world) error {
	metas, err := metadata.NewForConfig(w.config)
	if err != nil {
		return err
	}
	pods := metas.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	list, err := pods.List(w.ctx, meta.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		return fmt.Errorf("%d namespaces: %w", len(list.Items), err)
	}
	one, err := pods.Get(w.ctx, w.ns, meta.GetOptions{})
	if err == nil && (one.Name != w.ns || one.UID == "") {
		err = fmt.Errorf("%v", one)
	}
	return err
}

func discovered(w *world) error {
	_, lists, err := w.client.Discovery().ServerGroupsAndResources()
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			found[list.GroupVersion+" "+r.Name] = true
		}
	}
	for _, want := range []string{"v1 pods", "v1 pods/status", "v1 events", "events.k8s.io/v1 events", "batch/v1 jobs",
		"coordination.k8s.io/v1 leases", "mete.dev/v1 queues"} {
		if !found[want] {
			return fmt.Errorf("%s is not there", want)
		}
	}
	preferred, err := w.client.Discovery().ServerPreferredResources()
	if err != nil || len(preferred) == 0 {
		return fmt.Errorf("preferred resources: %d: %w", len(preferred), err)
	}
	paths, err := w.client.Discovery().OpenAPIV3().Paths()
	if err == nil && paths["apis/events.k8s.io/v1"] == nil {
		err = fmt.Errorf("no OpenAPI of events.k8s.io/v1")
	}
	return err
}

func init() {
	claims = append(claims, claim{"informers", informersSee}, claim{"informers-of-every-kind", everyInformer},
		claim{"dynamic-objects", dynamicObjects}, claim{"metadata-only", metadataOnly}, claim{"discovery", discovered})
}
