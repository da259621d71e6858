// Command clients runs the Go clients of Kubernetes, unchanged, against a server: client-go with
// its default encoding, controller-runtime, and the helpers that programs build on.
//
//	clients KUBECONFIG CLAIM...   runs the claims, one line "ok CLAIM" for each that holds
//	clients list                  names all claims
//	clients encodings DECODER     compares the protobuf and the JSON of filled objects
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A world has the clients and the namespace of a claim.
type world struct {
	ctx    context.Context
	config *rest.Config
	client *kubernetes.Clientset
	ns     string
}

type claim struct {
	name string
	run  func(w *world) error
}

var claims []claim

const deadline = 90 * time.Second

func run(path string, names []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return err
	}
	config.QPS = -1 // a server on the same machine
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*deadline)
	defer cancel()
	failed := 0
	for _, name := range names {
		if err := runClaim(&world{ctx, config, client, "default"}, name); err != nil {
			fmt.Printf("not ok %s: %v\n", name, err)
			failed++
			continue
		}
		fmt.Printf("ok %s\n", name)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d claims do not hold", failed, len(names))
	}
	return nil
}

func runClaim(w *world, name string) error {
	for _, c := range claims {
		if c.name == name {
			ctx, cancel := context.WithTimeout(w.ctx, deadline)
			defer cancel()
			w.ctx = ctx
			return c.run(w)
		}
	}
	return fmt.Errorf("no such claim")
}

func main() {
	log.SetFlags(0)
	args := os.Args[1:]
	var err error
	switch {
	case len(args) == 1 && args[0] == "list":
		for _, c := range claims {
			fmt.Println(c.name)
		}
	case len(args) == 2 && args[0] == "encodings":
		err = compareEncodings(args[1])
	case len(args) > 1:
		err = run(args[0], args[1:])
	default:
		log.Fatal("clients: want KUBECONFIG CLAIM..., list, or encodings DECODER")
	}
	if err != nil {
		log.Fatal("clients: ", err)
	}
}

// until calls ask until ask returns true, or until the claim's deadline.
func (w *world) until(what string, ask func() (bool, error)) error {
	for {
		yes, err := ask()
		if err != nil || yes {
			return err
		}
		select {
		case <-w.ctx.Done():
			return fmt.Errorf("%s: not within %v", what, deadline)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
