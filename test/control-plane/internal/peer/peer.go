// Package peer is what the leader election peers have in common: their flags, and the JSON lines they print.
package peer

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say who stands for which lease, and with which timing.
type Options struct {
	KubeConfig    string
	Lease         string
	Namespace     string
	ID            string
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
	Release       bool
}

// ParseOptions reads the options from the command line. Its defaults are those of the Kubernetes components.
func ParseOptions() Options {
	var o Options
	flag.StringVar(&o.KubeConfig, "kubeconfig", "", "path of the kubeconfig file")
	flag.StringVar(&o.Lease, "lease", "", "name of the Lease")
	flag.StringVar(&o.Namespace, "namespace", "default", "namespace of the Lease")
	flag.StringVar(&o.ID, "id", "", "holder identity")
	flag.DurationVar(&o.LeaseDuration, "lease-duration", 15*time.Second, "how long a lease holds without a renewal")
	flag.DurationVar(&o.RenewDeadline, "renew-deadline", 10*time.Second, "how long a leader tries to renew before it gives up")
	flag.DurationVar(&o.RetryPeriod, "retry-period", 2*time.Second, "how long to wait between two attempts")
	flag.BoolVar(&o.Release, "release", false, "release the lease on SIGTERM")
	flag.Parse()
	if o.KubeConfig == "" || o.Lease == "" || o.ID == "" {
		Fatal("expected --kubeconfig, --lease and --id")
	}
	return o
}

// RestConfig loads the kubeconfig. The client's own rate limit is off, so that it does not colour what is measured.
func (o Options) RestConfig() *rest.Config {
	config, err := clientcmd.BuildConfigFromFlags("", o.KubeConfig)
	if err != nil {
		Fatal(err.Error())
	}
	config.QPS = -1
	return config
}

// TerminationContext ends with the first SIGTERM or SIGINT.
func TerminationContext() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
}

type line struct {
	Time  int64  `json:"t"`
	Event string `json:"event"`
	ID    string `json:"id"`
}

var output sync.Mutex

// Print writes one event as a JSON line, stamped with the wall clock in microseconds since 1970.
func Print(event, id string) {
	stamped := line{Time: time.Now().UnixMicro(), Event: event, ID: id}
	output.Lock()
	defer output.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(stamped); err != nil {
		Fatal(err.Error())
	}
}

// Fatal prints the reason on stderr and exits with code 2.
func Fatal(reason string) {
	_, _ = os.Stderr.WriteString(reason + "\n")
	os.Exit(2)
}
