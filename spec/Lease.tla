------------------------------- MODULE Lease -------------------------------
(***************************************************************************)
(* The world in which replicas stand for election: one stored lease with   *)
(* its versions, writes that take effect late or never, watches that are   *)
(* arbitrarily late, and clocks that run at different rates.               *)
(*                                                                         *)
(* Time is discrete, and every time is a number of ticks left on the clock *)
(* of one process, so that no run has to be cut off at a last moment. Only *)
(* the number of versions of the lease is bounded.                         *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Replicas,     \* processes that follow Tenure's rules
  Peers,        \* processes that follow client-go's rules
  LeaseTicks,   \* how long others leave a lease alone after they saw it change
  MarginTicks,  \* what validity is shorter than that
  TransferTicks,\* the same for a transferred lease
  Slots,        \* each process may have this many writes of unknown outcome
  MaxVersion,   \* versions of the lease
  MaxRestarts,  \* of each process
  MaxDeletions, \* of the lease
  MaxAnswers,   \* nonces of each process
  MaxRestores,  \* of the store
  Features,     \* of {"drift", "seconds", "transfer", "death", "pods", "absent", "offered", "edits", "shortened",
                \* "restore"}
  Wrong         \* the rules that are broken; {} is the protocol

VARIABLES
  hist,    \* every version of the lease, oldest first; the last one is stored
  proc,    \* what each process knows and does
  msg,     \* the writes of each process whose outcome it does not know
  time,    \* of the wall clock, modulo Period
  slow,    \* the processes with a slow clock
  last,    \* the last term that began, and what a restore did to it
  ordered  \* whether every epoch was greater than the one before it

vars == <<hist, proc, msg, time, slow, last, ordered>>

Processes == Replicas \cup Peers
Nobody == <<>>
NoAnswer == <<>>

(***************************************************************************)
(* A record. `stamp` and `src` stand for the times, which no two writes    *)
(* share: the version that the write makes, and who wrote it. `term` is    *)
(* the stamp of the write that gave the lease to its holder, as            *)
(* acquireTime is. Annotations: `offer`, `answer`, `echo`, `ref`, `least`. *)
(*                                                                         *)
(* `num` is the version that the store counts: a restore takes it back.    *)
(* `epoch` is that of the term, `least` the least epoch of the next one.   *)
(* `ref` is the start of the container that the holder says it runs in.    *)
(***************************************************************************)
Absent == [here |-> FALSE, holder |-> Nobody, term |-> 0, stamp |-> 0, src |-> <<>>, trans |-> 0,
           dur |-> LeaseTicks, sec |-> 0, offer |-> FALSE, answer |-> NoAnswer, echo |-> 0,
           num |-> 1, epoch |-> 0, least |-> 0, ref |-> 0]
Released == [Absent EXCEPT !.here = TRUE]

Validity == LeaseTicks - (IF "clocks without a margin" \in Wrong THEN 0 ELSE MarginTicks)
TransferValidity == TransferTicks - (IF "clocks without a margin" \in Wrong THEN 0 ELSE MarginTicks)

NoWrite == [base |-> 0]

Version == Len(hist)
Stored == hist[Version]
Id(p) == <<p, proc[p].inc>>
Seen(p) == hist[proc[p].view]

Max(a, b) == IF a > b THEN a ELSE b

(* The epoch of a term that begins with this record, at the latest. *)
EpochOf(rec) == Max(rec.num, rec.least)

(* How long others leave this record alone. *)
WaitOn(rec) ==
  IF rec.holder # Nobody \/ ("deleted lease waited for" \in Wrong /\ ~rec.here) THEN rec.dur ELSE 0

(* Whether a record is the one that was written, possibly with another duration since. *)
WrittenAs(a, b) == a.stamp = b.stamp /\ a.src = b.src /\ a.here = b.here

(* Whether the lease fields are the same; annotations do not count. *)
SameFields(a, b) == WrittenAs(a, b) /\ a.dur = b.dur

(***************************************************************************)
(* Clocks. In every DriftPeriod ticks a slow clock misses one, so that     *)
(* LeaseTicks of a fast clock are LeaseTicks - 1 of a slow one. Seconds of *)
(* the wall clock are told apart modulo 2: every writer takes an even      *)
(* number of seconds later for the same second, and is only more cautious. *)
(***************************************************************************)
DriftPeriod == 3
SecondTicks == 3
Seconds == 2
Period == IF "seconds" \in Features THEN SecondTicks * Seconds
          ELSE IF "drift" \in Features THEN DriftPeriod ELSE 1
Second == IF "seconds" \in Features THEN time \div SecondTicks ELSE 0

Advances(p) == ~(p \in slow /\ time % DriftPeriod = 0)
Less(n) == IF n = 0 THEN 0 ELSE n - 1

Tick ==
  /\ time' = (time + 1) % Period
  /\ proc' = [p \in Processes |->
       IF Advances(p)
       THEN [proc[p] EXCEPT !.wait = Less(@), !.valid = Less(@), !.hold = Less(@), !.nonceLeft = Less(@),
                            !.poll = Less(@), !.grace = Less(@)]
       ELSE proc[p]]
  /\ msg' = [p \in Processes |-> [s \in Slots |->
       IF msg[p][s] # NoWrite /\ Advances(p) THEN [msg[p][s] EXCEPT !.left = Less(@)] ELSE msg[p][s]]]
  /\ UNCHANGED <<hist, slow, last, ordered>>

(***************************************************************************)
(* Requests. A write is a compare-and-swap on the version it is based on,  *)
(* so that it makes version base + 1 or nothing at all. It takes effect at *)
(* any time after it was sent, as long as nothing else did, or is lost. An *)
(* answer is nothing but an early sight of the version that it made; where *)
(* there is none, that version is seen later, or never.                    *)
(***************************************************************************)
FreeSlots(p) == {s \in Slots : msg[p][s] = NoWrite}
MaySend(p) == FreeSlots(p) # {}
NextSlot(p) == CHOOSE s \in FreeSlots(p) : \A t \in FreeSlots(p) : s <= t

(* Who writes the lease fields; together with the stamp it tells every two writes apart. *)
Source(p) == <<p, proc[p].inc, NextSlot(p)>>

(* `left` is how long the write entitles its sender to act, counted from the send. *)
Send(p, base, rec, left) ==
  msg' = [msg EXCEPT ![p][NextSlot(p)] = [base |-> base, rec |-> rec, left |-> left, inc |-> proc[p].inc, done |-> FALSE, sent |-> last.restores]]

(* Whether a write may take effect once the store counts `num`: only a restored store counts the version of its base again. *)
MayLand(m, num) == ~m.done /\ hist[m.base].num >= num

(* The writes that may still matter after the lease has a new version: of dead processes only those that may take effect. *)
Living(messages, num) == [p \in Processes |-> [s \in Slots |->
  LET m == messages[p][s]
  IN IF m # NoWrite /\ m.inc # proc[p].inc /\ ~MayLand(m, num) THEN NoWrite ELSE m]]

(* The lease has a new version. *)
Store(rec, messages) ==
  /\ hist' = Append(hist, [rec EXCEPT !.num = Stored.num + 1])
  /\ msg' = Living(messages, Stored.num + 1)

IsRelease(rec) == rec.here /\ rec.holder = Nobody
IsBlind(m) == "release without comparing" \in Wrong /\ IsRelease(m.rec)

TakeEffect(p, s) ==
  LET m == msg[p][s]
      isBlind == IsBlind(m) /\ Stored.here /\ m.base < Version
  IN /\ m # NoWrite
     /\ Version < MaxVersion
     /\ \/ /\ ~m.done /\ hist[m.base].num = Stored.num
           /\ Store(m.rec, [msg EXCEPT ![p][s].done = TRUE])
           /\ last' = [last EXCEPT !.stale = @ \/ m.sent < last.restores \/ hist[m.base] # Stored]
        \/ /\ isBlind
           /\ Store([m.rec EXCEPT !.stamp = Version + 1], [msg EXCEPT ![p][s] = NoWrite])
           /\ UNCHANGED last
     /\ UNCHANGED <<proc, time, slow, ordered>>

Lose(p, s) ==
  /\ msg[p][s] # NoWrite /\ MayLand(msg[p][s], Stored.num)
  /\ msg' = [msg EXCEPT ![p][s] = NoWrite]
  /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

(* Somebody deletes the lease. *)
Deletions == Cardinality({v \in 2..Version : ~hist[v].here})
Delete ==
  /\ Stored.here /\ Deletions < MaxDeletions /\ Version < MaxVersion
  /\ Store(Absent, msg)
  /\ UNCHANGED <<proc, time, slow, last, ordered>>

(* Somebody edits an annotation that means nothing to electors. *)
Edit ==
  /\ "edits" \in Features /\ Stored.here /\ Version < MaxVersion
  /\ Store(Stored, msg)
  /\ UNCHANGED <<proc, time, slow, last, ordered>>

(* Somebody shortens the duration that the record states. *)
Shorten ==
  /\ "shortened" \in Features /\ Stored.here /\ Version < MaxVersion
  /\ \E dur \in 1..(Stored.dur - 1) : Store([Stored EXCEPT !.dur = dur], msg)
  /\ UNCHANGED <<proc, time, slow, last, ordered>>

(***************************************************************************)
(* The store goes back to an earlier state, as etcd does that is restored  *)
(* from a backup: it has that record again, and counts from its version.   *)
(* Writes on their way may find the version of their base again: `stale`   *)
(* says that one did.                                                      *)
(***************************************************************************)
Restore ==
  /\ last.restores < MaxRestores /\ Version < MaxVersion
  /\ \E v \in Max(1, Version - 2)..(Version - 1) :
       /\ hist' = Append(hist, hist[v])
       /\ msg' = Living(msg, hist[v].num)
  /\ proc' = [p \in Processes |->
       [proc[p] EXCEPT !.old = proc[p].tasks, !.grace = Validity,
                       !.knew = Seen(p).term = Stored.term /\ Seen(p).holder = Stored.holder]]
  /\ last' = [last EXCEPT !.restores = @ + 1, !.back = Version + 1, !.old = TRUE]
  /\ UNCHANGED <<time, slow, ordered>>

(***************************************************************************)
(* Processes                                                               *)
(***************************************************************************)
(* A process that starts reads the lease. A later read is a later start. *)
Fresh(inc, version, rec) ==
  [mode |-> "follow", \* follow, reserve, lead, drain, empty, ending
   view |-> version,  \* the version seen last
   wait |-> WaitOn(rec), \* until the record seen last counts as expired
   valid |-> 0,       \* until validUntil
   tasks |-> FALSE,   \* whether tasks of a term run
   hold |-> 0,        \* how long not to act, after a deleted lease was created again
   nonce |-> 0, nonceLeft |-> 0, nonceUsed |-> FALSE, \* of the last answer; counted from its send
   poll |-> 0,        \* a lease duration, counted from the send of the last poll
   podGone |-> FALSE, \* whether somebody force-deleted the Pod of the running process
   names |-> inc,     \* the start of the container that it takes for its own
   known |-> EpochOf(rec), \* the greatest epoch that it knows of
   old |-> FALSE,     \* whether the lease of its term was acquired before the restore
   knew |-> FALSE,    \* whether it had seen the term that was in force when the store went back
   grace |-> 0,       \* how long a write from before the restore may entitle it to act
   inc |-> inc]       \* how often it was restarted; part of its identity

(* `old`: its lease was acquired before the last restore, which was at position `back` of the history. `stale`: a write that was
   sent before a restore has taken effect after it, or one has replaced a record that it was not based on. *)
NoTerm == [epoch |-> 0, old |-> FALSE, stale |-> FALSE, restores |-> 0, back |-> 0]

StartsWith(rec) ==
  /\ hist = <<rec>>
  /\ msg = [p \in Processes |-> [s \in Slots |-> NoWrite]]
  /\ time = 0
  /\ slow \in IF "drift" \in Features THEN {{p} : p \in Processes} ELSE {{}}
  /\ ordered = TRUE

(* A lease that is free or absent. *)
InitFree ==
  /\ \E rec \in IF "absent" \in Features THEN {Absent, Released} ELSE {Released} :
       /\ StartsWith(rec)
       /\ proc = [p \in Processes |-> Fresh(0, 1, rec)]
  /\ last = NoTerm

(* A leader that drains and has offered its lease. *)
InitOffered ==
  /\ \E leader \in Replicas :
       LET rec == [Released EXCEPT !.holder = <<leader, 0>>, !.term = 1, !.epoch = 1, !.stamp = 1, !.src = <<leader, 0, 1>>, !.offer = TRUE]
           draining == [Fresh(0, 1, rec) EXCEPT !.mode = "drain", !.wait = 0, !.tasks = TRUE, !.valid = Validity]
       IN /\ StartsWith(rec)
          /\ proc = [p \in Processes |-> IF p = leader THEN draining ELSE Fresh(0, 1, rec)]
  /\ last = [NoTerm EXCEPT !.epoch = 1]

Init == IF "offered" \in Features THEN InitOffered ELSE InitFree

(* The process dies and is started again, under a new identity; its writes may take effect later. The status of its Pod may still be
   the one from before: then it takes its predecessor's container for its own. *)
Crash(p) ==
  /\ proc[p].inc < MaxRestarts
  /\ \E names \in proc[p].inc..(proc[p].inc + 1) :
       /\ "death" \notin Features => names = proc[p].inc + 1
       /\ proc' = [proc EXCEPT ![p] = [Fresh(@.inc + 1, Version, Stored) EXCEPT !.names = names]]
  /\ msg' = [msg EXCEPT ![p] = [s \in Slots |->
       IF @[s] # NoWrite /\ MayLand(@[s], Stored.num) THEN [@[s] EXCEPT !.left = 0] ELSE NoWrite]]
  /\ UNCHANGED <<hist, time, slow, last, ordered>>

(* What the next steps depend on: versions that nobody can see or overwrite any more do not matter. *)
Least(S) == CHOOSE n \in S : \A m \in S : n <= m
Sent == {msg[p][s] : p \in Processes, s \in Slots} \ {NoWrite}
Floor == Least({Max(1, Version - 1)} \cup {proc[p].view : p \in Processes} \cup {m.base : m \in Sent})
State == <<Version, SubSeq(hist, Floor, Version), proc, msg, time, slow, last, ordered, Deletions>>
=============================================================================
