------------------------------ MODULE Progress ------------------------------
(***************************************************************************)
(* L1 in its bounded form: once nothing fails any more, there is a leader  *)
(* within a lease duration and a tick for the requests. Here every process *)
(* does at once what it can, and time passes only when nobody can do       *)
(* anything; the lease is held by somebody who is dead.                    *)
(***************************************************************************)
EXTENDS Tenure

VARIABLE idle \* for how many ticks nobody has led

Bound == LeaseTicks + 1

(* Who held the lease before, and is gone. *)
Dead == <<CHOOSE p \in Replicas : TRUE, 9>>
HeldByDead == [Released EXCEPT !.holder = Dead, !.trans = 1]

InitCalm ==
  /\ hist = <<HeldByDead>>
  /\ proc = [p \in Processes |-> Fresh(0, 1, HeldByDead)]
  /\ msg = [p \in Processes |-> [s \in Slots |-> NoWrite]]
  /\ time = 0 /\ slow = {} /\ last = NoTerm /\ ordered = TRUE
  /\ idle = 0

(* A leader renews when half of its validity is over. *)
RenewInTime(p) == proc[p].valid = 1 /\ Renew(p)

(* A store that went back refuses what is based on a version that it has forgotten. *)
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
  \/ ~ENABLED Urgent /\ Restore /\ UNCHANGED idle

SpecCalm == InitCalm /\ [][NextCalm]_<<vars, idle>>

StateCalm == <<State, idle>>

(* The last version that the model allows cannot be renewed. *)
L1 == Version = MaxVersion \/ idle <= Bound
=============================================================================
