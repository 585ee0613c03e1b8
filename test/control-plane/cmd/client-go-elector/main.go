// Command client-go-elector stands for a Lease with the leader election of client-go and prints its callbacks.
//
// It exits with code 0 after SIGTERM and with code 1 when it lost the lease, as the Kubernetes components do.
package main

import (
	"context"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"tenure.test/control-plane/internal/peer"
)

func main() {
	options := peer.ParseOptions()
	ctx, stop := peer.TerminationContext()
	defer stop()

	elector, err := leaderelection.NewLeaderElector(electionConfig(options))
	if err != nil {
		peer.Fatal(err.Error())
	}
	elector.Run(ctx)
	if ctx.Err() == nil {
		os.Exit(1)
	}
}

func electionConfig(o peer.Options) leaderelection.LeaderElectionConfig {
	// The callbacks are called from goroutines of their own, so the end of a term may overtake its beginning.
	started := make(chan struct{})
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Lease},
			Client:     kubernetes.NewForConfigOrDie(o.RestConfig()).CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.ID},
		},
		LeaseDuration:   o.LeaseDuration,
		RenewDeadline:   o.RenewDeadline,
		RetryPeriod:     o.RetryPeriod,
		ReleaseOnCancel: o.Release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				peer.Print("started-leading", o.ID)
				close(started)
			},
			OnStoppedLeading: func() {
				select {
				case <-started:
					peer.Print("stopped-leading", o.ID)
				default: // client-go says this to a candidate that never led, too
				}
			},
			OnNewLeader: func(identity string) { peer.Print("new-leader", identity) },
		},
	}
}
