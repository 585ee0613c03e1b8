// Command client-go-candidate stands for a Lease in the coordinated leader election of client-go and prints its callbacks.
//
// It publishes a LeaseCandidate and leads when the controller of the API server has named it. It exits with code 0 after
// SIGTERM and with code 1 when it lost the lease, as the Kubernetes components do. Its LeaseCandidate stays.
package main

import (
	"context"
	"flag"
	"os"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"tenure.test/control-plane/internal/peer"
)

func main() {
	binaryVersion := flag.String("binary-version", "", "semantic version of the program")
	emulationVersion := flag.String("emulation-version", "", "semantic version that the program emulates")
	options := peer.ParseOptions()
	if *binaryVersion == "" || *emulationVersion == "" {
		peer.Fatal("expected --binary-version and --emulation-version")
	}
	ctx, stop := peer.TerminationContext()
	defer stop()

	client := kubernetes.NewForConfigOrDie(options.RestConfig())
	candidate, _, err := leaderelection.NewCandidate(client, options.Namespace, options.ID, options.Lease,
		*binaryVersion, *emulationVersion, coordinationv1.OldestEmulationVersion)
	if err != nil {
		peer.Fatal(err.Error())
	}
	elector, err := leaderelection.NewLeaderElector(electionConfig(client, options))
	if err != nil {
		peer.Fatal(err.Error())
	}
	go candidate.Run(ctx)
	elector.Run(ctx)
	if ctx.Err() == nil {
		os.Exit(1)
	}
}

func electionConfig(client kubernetes.Interface, o peer.Options) leaderelection.LeaderElectionConfig {
	// The callbacks are called from goroutines of their own, so the end of a term may overtake its beginning.
	started := make(chan struct{})
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Lease},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.ID},
		},
		Coordinated:     true,
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
