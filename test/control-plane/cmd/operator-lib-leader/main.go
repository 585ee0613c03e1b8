// Command operator-lib-leader becomes a leader for life with operator-lib, and prints when.
//
// Its Pod has the name that is given as its identity. The lease is the name of the ConfigMap. The retry period is the longest pause between
// two attempts. It leads until SIGTERM; the process releases nothing, because operator-lib leaves that to the garbage collector.
package main

import (
	"context"
	"flag"
	"os"

	"github.com/go-logr/logr"
	"github.com/operator-framework/operator-lib/leader"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	_ "unsafe" // for the name of the namespace

	"tenure.test/control-plane/internal/peer"
)

// readNamespace is how operator-lib learns its namespace. In a Pod, it reads the file of the service account.
//
//go:linkname readNamespace github.com/operator-framework/operator-lib/leader.readNamespace
var readNamespace func() (string, error)

func main() {
	log.SetLogger(logr.Discard())
	// controller-runtime has a flag of the same name, of which nothing is needed here.
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	options := peer.ParseOptions()
	ctx, stop := peer.TerminationContext()
	defer stop()

	readNamespace = func() (string, error) { return options.Namespace, nil }
	if err := os.Setenv("POD_NAME", options.ID); err != nil {
		peer.Fatal(err.Error())
	}
	if err := become(ctx, options); err != nil {
		if ctx.Err() != nil {
			return
		}
		peer.Fatal(err.Error())
	}
	peer.Print("started-leading", options.ID)
	<-ctx.Done()
	peer.Print("stopped-leading", options.ID)
}

func become(ctx context.Context, o peer.Options) error {
	c, err := client.New(o.RestConfig(), client.Options{})
	if err != nil {
		return err
	}
	return leader.Become(ctx, o.Lease, leader.WithClient(c), func(config *leader.Config) error {
		config.MaxBackoffInterval = o.RetryPeriod
		return nil
	})
}
