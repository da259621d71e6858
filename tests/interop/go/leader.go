package main

import (
	"context"
	"fmt"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// elect runs for leader until ctx ends, and calls leads once.
func elect(ctx context.Context, w *world, name string, leads chan<- string) error {
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, w.ns, "go-leader",
		w.client.CoreV1(), w.client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
	if err != nil {
		return err
	}
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, ReleaseOnCancel: true, Name: name,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 200 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leads <- name },
			OnStoppedLeading: func() {},
		},
	})
	if err == nil {
		go e.Run(ctx)
	}
	return err
}

func (w *world) next(leads <-chan string) (string, error) {
	select {
	case name := <-leads:
		return name, nil
	case <-w.ctx.Done():
		return "", fmt.Errorf("nobody leads")
	}
}

func leader(w *world) error {
	leads := make(chan string, 2)
	first, stop := context.WithCancel(w.ctx)
	defer stop()
	if err := elect(first, w, "a", leads); err != nil {
		return err
	}
	if name, err := w.next(leads); name != "a" {
		return fmt.Errorf("%q leads: %w", name, err)
	}
	if err := elect(w.ctx, w, "b", leads); err != nil {
		return err
	}
	leases := w.client.CoordinationV1().Leases(w.ns)
	begin, err := leases.Get(w.ctx, "go-leader", meta.GetOptions{})
	if err != nil {
		return err
	}
	err = w.until("a renewal", func() (bool, error) {
		l, err := leases.Get(w.ctx, "go-leader", meta.GetOptions{})
		return err == nil && l.Spec.RenewTime.After(begin.Spec.RenewTime.Time) && *l.Spec.HolderIdentity == "a", err
	})
	if err != nil {
		return err
	}
	stop()
	name, err := w.next(leads)
	if name != "b" {
		return fmt.Errorf("after a stopped %q leads: %w", name, err)
	}
	l, err := leases.Get(w.ctx, "go-leader", meta.GetOptions{})
	if err == nil && *l.Spec.LeaseTransitions < 1 {
		err = fmt.Errorf("%d transitions", *l.Spec.LeaseTransitions)
	}
	return err
}

func init() {
	claims = append(claims, claim{"leader-election", leader})
}
