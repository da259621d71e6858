//go:build tools

// Package e2e names the programs of Kubernetes' own tests, for go.mod.
package e2e

import (
	_ "k8s.io/kubernetes/test/e2e"
	_ "k8s.io/kubernetes/test/images/agnhost"
)
