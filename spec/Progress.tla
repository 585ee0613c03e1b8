------------------------------ MODULE Progress ------------------------------
(***************************************************************************)
(* L1 with a bound: without faults there is a leader within a lease        *)
(* duration and one tick for the requests. Every process acts as soon as   *)
(* it can, and time passes only when no process can act. At first a        *)
(* process that has ended holds the lease.                                 *)
(***************************************************************************)
EXTENDS Tenure

VARIABLE idle \* the number of ticks without a leader

Bound == LeaseTicks + 1

(* The former holder, which has ended. *)
Dead == <<CHOOSE p \in Replicas : TRUE, 9>>
HeldByDead == [Released EXCEPT !.holder = Dead, !.trans = 1, !.term = 1]

InitCalm ==
  /\ hist = <<HeldByDead>>
  /\ proc = [p \in Processes |-> Fresh(0, 1, HeldByDead)]
  /\ msg = [p \in Processes |-> [s \in Slots |-> NoWrite]]
  /\ time = 0 /\ slow = {} /\ last = NoTerm /\ ordered = TRUE
  /\ idle = 0

(* A leader renews after half of its validity. *)
RenewInTime(p) == proc[p].valid = 1 /\ Renew(p)

(* A restored store refuses a write that is based on a version that it has lost. *)
IsRefused(p, s) == msg[p][s] # NoWrite /\ msg[p][s].inc = NotItsOwn

Urgent ==
  \E p \in Replicas :
    \/ Acquire(p) \/ RenewInTime(p)
    \/ \E s \in Slots : TakeEffect(p, s) \/ (IsRefused(p, s) /\ Lose(p, s))
    \/ proc[p].view < Version /\ See(p, Version)

NextCalm ==
  \/ Urgent /\ UNCHANGED idle
  \/ /\ ~ENABLED Urgent
     /\ Tick
     /\ idle' = IF \E p \in Replicas : Acts(p) THEN 0 ELSE Least({idle + 1, Bound + 1})
  \/ Edit /\ UNCHANGED idle
  \/ \E p \in Replicas : (Join(p) \/ Unlist(p)) /\ UNCHANGED idle
  \/ ~ENABLED Urgent /\ Restore /\ UNCHANGED idle

SpecCalm == InitCalm /\ [][NextCalm]_<<vars, idle>>

StateCalm == <<State, idle>>

(* The model allows no renewal of the last version. *)
L1 == Version = MaxVersion \/ idle <= Bound
=============================================================================
