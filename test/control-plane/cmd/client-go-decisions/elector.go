package main

import (
	"context"
	"reflect"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"tenure.test/control-plane/internal/peer"
)

// step is a moment at which the elector looks at the lease.
type step struct {
	// At is the reading of the clock, in milliseconds.
	At int64 `json:"at"`
	// Put, if there is one, is what others have made of the lease before.
	Put *change `json:"put"`
	// Race is what others make of it before the elector's first write, or after the step where there is none.
	Race *change `json:"race"`
	// Lost says what becomes of the elector's first write: "before" it took effect, or "after", its answer is lost.
	Lost string `json:"lost"`
}

// decision is what the elector did at a step.
type decision struct {
	// Wrote says whether a write of the elector took effect: "", "create" or "update".
	Wrote string `json:"wrote"`
	// Leads says whether it takes itself for the leader afterwards.
	Leads bool `json:"leads"`
}

const identity = "me"

var (
	start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	quiet = klog.NewContext(context.Background(), logr.Discard())
)

// tryAcquireOrRenew is what client-go calls once a retry period.
//
//go:linkname tryAcquireOrRenew k8s.io/client-go/tools/leaderelection.(*LeaderElector).tryAcquireOrRenew
func tryAcquireOrRenew(elector *leaderelection.LeaderElector, ctx context.Context) bool

func decide(steps []step) []decision {
	now := clocktesting.NewFakePassiveClock(start)
	store := &leaseStore{}
	elector := newElector(store, passiveClock{PassiveClock: now})
	decisions := make([]decision, 0, len(steps))
	for _, s := range steps {
		now.SetTime(start.Add(time.Duration(s.At) * time.Millisecond))
		store.begin(s)
		succeeded := tryAcquireOrRenew(elector, quiet)
		wrote := store.end()
		leads := succeeded || elector.IsLeader()
		decisions = append(decisions, decision{Wrote: wrote, Leads: leads})
	}
	return decisions
}

// newElector is NewLeaderElector with another clock, which client-go takes from its own tests only.
func newElector(store *leaseStore, now clock.Clock) *leaderelection.LeaderElector {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
			Client:     store,
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration: 15 * time.Second,
		RenewDeadline: 10 * time.Second,
		RetryPeriod:   2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		peer.Fatal(err.Error())
	}
	field := reflect.ValueOf(elector).Elem().FieldByName("clock")
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(now))
	return elector
}

// passiveClock only tells the time; a timer would be a mistake.
type passiveClock struct {
	clock.PassiveClock
	clock.Clock
}

func (c passiveClock) Now() time.Time                  { return c.PassiveClock.Now() }
func (c passiveClock) Since(t time.Time) time.Duration { return c.PassiveClock.Since(t) }
