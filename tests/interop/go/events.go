package main

import (
	"fmt"

	core "k8s.io/api/core/v1"
	eventsapi "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

// find waits for the event of a reason, and reads it in both versions of the kind.
func find(w *world, reason string, fits func(*core.Event, *eventsapi.Event) bool) error {
	return w.until("the event "+reason, func() (bool, error) {
		old, err := w.client.CoreV1().Events(w.ns).List(w.ctx, meta.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil || len(old.Items) != 1 {
			return false, err
		}
		now, err := w.client.EventsV1().Events(w.ns).List(w.ctx, meta.ListOptions{
			FieldSelector: "reason=" + reason + ",regarding.name=" + w.ns})
		if err != nil || len(now.Items) != 1 {
			return false, err
		}
		a, b := &old.Items[0], &now.Items[0]
		if a.ResourceVersion != b.ResourceVersion {
			return false, nil // it was told again between the two reads
		}
		if a.UID != b.UID || a.Message != b.Note || a.InvolvedObject != b.Regarding ||
			a.ReportingController != b.ReportingController || a.Count != b.DeprecatedCount || !a.EventTime.Equal(&b.EventTime) {
			return false, fmt.Errorf("%v is not %v", a, b)
		}
		return fits(a, b), nil
	})
}

func recorders(w *world) error {
	about, err := w.client.CoreV1().Namespaces().Get(w.ctx, w.ns, meta.GetOptions{})
	if err != nil {
		return err
	}
	about.Namespace = w.ns // the namespace of its events
	old := record.NewBroadcaster(record.WithContext(w.ctx))
	defer old.Shutdown()
	old.StartRecordingToSink(&corev1.EventSinkImpl{Interface: w.client.CoreV1().Events("")})
	tell := old.NewRecorder(scheme.Scheme, core.EventSource{Component: "clients"})
	tell.Event(about, "Normal", "ToldOld", "first")
	tell.Event(about, "Normal", "ToldOld", "first")
	err = find(w, "ToldOld", func(a *core.Event, b *eventsapi.Event) bool {
		return a.Count == 2 && b.DeprecatedSource.Component == "clients" && !b.DeprecatedLastTimestamp.IsZero()
	})
	if err != nil {
		return err
	}
	now := events.NewBroadcaster(&events.EventSinkImpl{Interface: w.client.EventsV1()})
	defer now.Shutdown()
	if err := now.StartRecordingToSinkWithContext(w.ctx); err != nil {
		return err
	}
	wrong := &eventsapi.Event{ObjectMeta: meta.ObjectMeta{GenerateName: "wrong-"}, Regarding: core.ObjectReference{Namespace: w.ns}}
	if _, err := w.client.EventsV1().Events(w.ns).Create(w.ctx, wrong, meta.CreateOptions{}); !errors.IsInvalid(err) {
		return fmt.Errorf("an event without an action: %v", err)
	}
	say := now.NewRecorder(scheme.Scheme, "mete.dev/clients")
	say.Eventf(about, nil, "Normal", "ToldNew", "Telling", "first")
	if err := find(w, "ToldNew", func(a *core.Event, b *eventsapi.Event) bool { return b.Action == "Telling" }); err != nil {
		return err
	}
	say.Eventf(about, nil, "Normal", "ToldNew", "Telling", "first")
	return find(w, "ToldNew", func(a *core.Event, b *eventsapi.Event) bool {
		return a.Series != nil && b.Series != nil && a.Series.Count == 2 && b.Series.Count == 2
	})
}

func init() {
	claims = append(claims, claim{"event-recorders", recorders})
}
