package main

import (
	"context"
	"errors"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

const (
	namespace = "default"
	name      = "lease"
)

var resource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// change is what others make of the lease. Without a Spec they delete it, or, with Touch, edit an annotation.
type change struct {
	Spec     *coordinationv1.LeaseSpec `json:"spec"`
	Touch    bool                      `json:"touch"`
	Deleting bool                      `json:"deleting"`
}

// leaseStore is an API server that stores one Lease. It refuses what a real one refuses: updates of another version.
type leaseStore struct {
	coordinationv1client.LeaseInterface
	version int
	stored  *coordinationv1.Lease

	race  *change
	lost  string
	wrote string
}

// Leases makes the store the client of a LeaseLock.
func (s *leaseStore) Leases(string) coordinationv1client.LeaseInterface { return s }

func (s *leaseStore) begin(next step) {
	s.race, s.lost, s.wrote = next.Race, next.Lost, ""
	s.apply(next.Put)
}

// end says which write of the step took effect.
func (s *leaseStore) end() string {
	s.apply(s.race)
	return s.wrote
}

func (s *leaseStore) apply(c *change) {
	if c == nil || (c.Spec == nil && s.stored == nil) {
		return
	}
	s.version++
	if c.Spec == nil && !c.Touch {
		s.stored = nil
		return
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if c.Touch {
		lease = s.stored.DeepCopy()
	} else {
		lease.Spec = *c.Spec
	}
	if c.Deleting {
		lease.DeletionTimestamp = &metav1.Time{Time: start}
	}
	s.store(lease)
}

func (s *leaseStore) store(lease *coordinationv1.Lease) {
	lease.ResourceVersion = strconv.Itoa(s.version)
	s.stored = lease
}

// Get reads the stored Lease.
func (s *leaseStore) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	if s.stored == nil {
		return nil, apierrors.NewNotFound(resource, name)
	}
	return s.stored.DeepCopy(), nil
}

// Create stores a Lease where there is none.
func (s *leaseStore) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return s.write("create", lease, func() error {
		if s.stored != nil {
			return apierrors.NewAlreadyExists(resource, name)
		}
		return nil
	})
}

// Update replaces exactly the version that it was read in.
func (s *leaseStore) Update(_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return s.write("update", lease, func() error {
		if s.stored == nil {
			return apierrors.NewNotFound(resource, name)
		}
		if s.stored.ResourceVersion != lease.ResourceVersion {
			return apierrors.NewConflict(resource, name, errors.New("the object has been modified"))
		}
		return nil
	})
}

func (s *leaseStore) write(verb string, lease *coordinationv1.Lease, refusal func() error) (*coordinationv1.Lease, error) {
	s.apply(s.race)
	lost := s.lost
	s.race, s.lost = nil, ""
	if lost == "before" {
		return nil, context.DeadlineExceeded
	}
	if err := refusal(); err != nil {
		return nil, err
	}
	s.version++
	s.store(lease.DeepCopy())
	s.wrote = verb
	if lost == "after" {
		return nil, context.DeadlineExceeded
	}
	return s.stored.DeepCopy(), nil
}
