// Command controller-runtime-manager runs a controller-runtime manager with one runnable that needs the lease.
//
// It prints when the runnable starts and stops. It exits with code 0 after SIGTERM and with code 1 when it lost the lease.
package main

import (
	"context"
	"os"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"tenure.test/control-plane/internal/peer"
)

func main() {
	log.SetLogger(logr.Discard())
	options := peer.ParseOptions()
	ctx, stop := peer.TerminationContext()
	defer stop()

	config := options.RestConfig()
	m, err := manager.New(config, managerOptions(options, config))
	if err != nil {
		peer.Fatal(err.Error())
	}
	if err := m.Add(leading(options.ID)); err != nil {
		peer.Fatal(err.Error())
	}
	if err := m.Start(ctx); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func managerOptions(o peer.Options, config *rest.Config) manager.Options {
	return manager.Options{
		LeaderElection:                true,
		LeaderElectionReleaseOnCancel: o.Release,
		LeaseDuration:                 &o.LeaseDuration,
		RenewDeadline:                 &o.RenewDeadline,
		RetryPeriod:                   &o.RetryPeriod,
		Metrics:                       server.Options{BindAddress: "0"},
		// The manager would make up an identity; a peer is known by the one it was given.
		LeaderElectionResourceLockInterface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Lease},
			Client:     kubernetes.NewForConfigOrDie(config).CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.ID},
		},
	}
}

// leading is a runnable that lasts as long as the manager leads.
func leading(id string) manager.RunnableFunc {
	return func(ctx context.Context) error {
		peer.Print("started-leading", id)
		<-ctx.Done()
		peer.Print("stopped-leading", id)
		return nil
	}
}
