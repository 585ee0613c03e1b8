------------------------------- MODULE Lease -------------------------------
(***************************************************************************)
(* The world of the replicas: one stored lease with its versions, writes   *)
(* that take effect late or never, watches with any delay, and clocks that *)
(* run at different rates.                                                 *)
(*                                                                         *)
(* Time is discrete. Every time is a number of ticks left on the clock of  *)
(* one process, so runs need no time limit. Only the number of versions of *)
(* the lease is bounded.                                                   *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Replicas,     \* processes that follow Tenure's rules
  Peers,        \* processes that follow client-go's rules
  LeaseTicks,   \* how long others wait after they saw the lease change
  MarginTicks,  \* the margin by which validity is shorter
  TransferTicks,\* how long others wait after a transfer
  Slots,        \* writes of unknown outcome that a process may have
  MaxVersion,   \* number of versions of the lease
  MaxRestarts,  \* number of restarts of each process
  MaxDeletions, \* number of deletions of the lease
  MaxAnswers,   \* number of nonces of each process
  MaxRestores,  \* number of restores of the store
  Features,     \* of {"drift", "seconds", "transfer", "death", "pods", "absent", "offered", "edits", "shortened",
                \* "restore", "standbys", "coordinator", "stuck", "led"}
  Wrong         \* the broken rules; {} is the protocol

VARIABLES
  hist,    \* every version of the lease, oldest first; the store has the last
  proc,    \* what each process knows and does
  msg,     \* the writes of each process whose outcome it does not know
  time,    \* the wall clock, modulo Period
  slow,    \* the processes with a slow clock
  last,    \* the last term that began, and its relation to restores
  ordered  \* whether every epoch was greater than the one before it

vars == <<hist, proc, msg, time, slow, last, ordered>>

Processes == Replicas \cup Peers
Nobody == <<>>
NoAnswer == <<>>

(***************************************************************************)
(* A record. `stamp` and `src` stand for its times, which differ for any   *)
(* two writes: the version that the write makes, and its writer. `term` is *)
(* the stamp of the write that gave the lease to its holder, like          *)
(* acquireTime. Annotations: `offer`, `answer`, `echo`, `ref`, `least`,    *)
(* and `list`, the standbys without their order.                           *)
(*                                                                         *)
(* `num` is the version that the store counts. A restore sets it back.     *)
(* `epoch` is the epoch of the term, `least` the least epoch of the next   *)
(* term. `ref` is the start of the container that the holder names as its  *)
(* own; NoRef if it names none.                                            *)
(***************************************************************************)
Absent == [here |-> FALSE, holder |-> Nobody, term |-> 0, stamp |-> 0, src |-> <<>>, trans |-> 0,
           dur |-> LeaseTicks, sec |-> 0, offer |-> FALSE, answer |-> NoAnswer, echo |-> 0,
           num |-> 1, epoch |-> 0, least |-> 0, ref |-> 0, list |-> {}]
Released == [Absent EXCEPT !.here = TRUE]

(* Later than the end of any container. *)
NoRef == 99

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

(* Whether a coordinator has named the holder. It removes the acquire time. *)
IsNamed(rec) == rec.here /\ rec.holder # Nobody /\ rec.term = 0

(* How long others wait after they saw this record. *)
WaitOn(rec) ==
  IF rec.holder # Nobody \/ ("deleted lease waited for" \in Wrong /\ ~rec.here) THEN rec.dur ELSE 0

(* Whether a record is the one that was written, possibly with an edited duration. *)
WrittenAs(a, b) == a.stamp = b.stamp /\ a.src = b.src /\ a.here = b.here

(* Whether the lease fields are equal. Annotations do not count. *)
SameFields(a, b) == WrittenAs(a, b) /\ a.dur = b.dur

(***************************************************************************)
(* Clocks. In every DriftPeriod ticks a slow clock misses one, so          *)
(* LeaseTicks of a fast clock are LeaseTicks - 1 of a slow clock. Seconds  *)
(* of the wall clock count modulo 2: a writer takes a time that is an even *)
(* number of seconds later for the same second, which only makes it more   *)
(* cautious.                                                               *)
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
                            !.poll = Less(@), !.grace = Less(@), !.stuck = Less(@)]
       ELSE proc[p]]
  /\ msg' = [p \in Processes |-> [s \in Slots |->
       IF msg[p][s] # NoWrite /\ Advances(p) THEN [msg[p][s] EXCEPT !.left = Less(@)] ELSE msg[p][s]]]
  /\ UNCHANGED <<hist, slow, last, ordered>>

(***************************************************************************)
(* Requests. A write is a compare-and-swap on the version that it is based *)
(* on. It makes version base + 1 or nothing. It takes effect at any time   *)
(* after it was sent, unless another write came first, or is lost. An      *)
(* answer is an early observation of the version that the write made.      *)
(* Without an answer, the process sees that version later or never.        *)
(***************************************************************************)
FreeSlots(p) == {s \in Slots : msg[p][s] = NoWrite}
MaySend(p) == FreeSlots(p) # {}
NextSlot(p) == CHOOSE s \in FreeSlots(p) : \A t \in FreeSlots(p) : s <= t

(* The writer of the lease fields. With the stamp it identifies a write. *)
Source(p) == <<p, proc[p].inc, NextSlot(p)>>

(* `left`: how long the write entitles its sender to act, counted from the send. *)
Send(p, base, rec, left) ==
  msg' = [msg EXCEPT ![p][NextSlot(p)] = [base |-> base, rec |-> rec, left |-> left, inc |-> proc[p].inc, done |-> FALSE, sent |-> last.restores]]

(* Whether a write may take effect after the store has reached version `num`. Only a restored store reaches the version of its base again. *)
MayLand(m, num) == ~m.done /\ hist[m.base].num >= num

(* The writes that still matter after a new version of the lease. Of ended processes, only those that may take effect. *)
Living(messages, num) == [p \in Processes |-> [s \in Slots |->
  LET m == messages[p][s]
  IN IF m # NoWrite /\ m.inc # proc[p].inc /\ ~MayLand(m, num) THEN NoWrite ELSE m]]

(* The lease gets a new version. *)
Store(rec, messages) ==
  /\ hist' = Append(hist, [rec EXCEPT !.num = Stored.num + 1])
  /\ msg' = Living(messages, Stored.num + 1)

IsRelease(rec) == rec.here /\ rec.holder = Nobody
IsAnnouncement(m) == m.rec.list # hist[m.base].list /\ m.rec.term = hist[m.base].term /\ ~IsRelease(m.rec)
IsBlind(m) == \/ "release without comparing" \in Wrong /\ IsRelease(m.rec)
              \/ "announcement without comparing" \in Wrong /\ IsAnnouncement(m)

TakeEffect(p, s) ==
  LET m == msg[p][s]
      isBlind == IsBlind(m) /\ Stored.here /\ m.base < Version
  IN /\ m # NoWrite
     /\ Version < MaxVersion
     /\ \/ /\ ~m.done /\ hist[m.base].num = Stored.num
           /\ Store(m.rec, [msg EXCEPT ![p][s].done = TRUE])
           /\ last' = [last EXCEPT !.stale = @ \/ m.sent < last.restores \/ hist[m.base] # Stored]
        \/ /\ isBlind
           /\ Store(IF IsRelease(m.rec) THEN [m.rec EXCEPT !.stamp = Version + 1] ELSE m.rec, [msg EXCEPT ![p][s] = NoWrite])
           /\ UNCHANGED last
     /\ UNCHANGED <<proc, time, slow, ordered>>

Lose(p, s) ==
  /\ msg[p][s] # NoWrite /\ MayLand(msg[p][s], Stored.num)
  /\ msg' = [msg EXCEPT ![p][s] = NoWrite]
  /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

(* A client deletes the lease. *)
Deletions == Cardinality({v \in 2..Version : ~hist[v].here})
Delete ==
  /\ Stored.here /\ Deletions < MaxDeletions /\ Version < MaxVersion
  /\ Store(Absent, msg)
  /\ UNCHANGED <<proc, time, slow, last, ordered>>

(* A client edits an annotation that electors ignore. *)
Edit ==
  /\ "edits" \in Features /\ Stored.here /\ Version < MaxVersion
  /\ Store(Stored, msg)
  /\ UNCHANGED <<proc, time, slow, last, ordered>>

(* A client shortens the duration in the record. *)
Shorten ==
  /\ "shortened" \in Features /\ Stored.here /\ Version < MaxVersion
  /\ \E dur \in 1..(Stored.dur - 1) : Store([Stored EXCEPT !.dur = dur], msg)
  /\ UNCHANGED <<proc, time, slow, last, ordered>>

(* The election controller of Kubernetes names any replica at any time: it compares the clocks of others, and there may be two of it. The
   duration that it writes is shorter than that of the replicas. *)
Elect ==
  /\ "coordinator" \in Features /\ Version < MaxVersion
  /\ \E p \in Replicas :
       Store([Stored EXCEPT !.here = TRUE, !.holder = Id(p), !.term = 0, !.stamp = Version + 1, !.src = <<>>, !.dur = 1,
                            !.offer = FALSE, !.answer = NoAnswer, !.echo = 0], msg)
  /\ UNCHANGED <<proc, time, slow, last, ordered>>

(***************************************************************************)
(* The store returns to an earlier state, like etcd after a restore from a *)
(* backup: it has that record again and counts from its version. Writes in *)
(* flight may find the version of their base again. `stale` records that   *)
(* this happened.                                                          *)
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

(* How long a lease must not change before a process that saw this record frees it: the holder of before may have had it for longer than
   the one that is named. *)
StuckAfter(rec) ==
  IF "stuck" \notin Features THEN 0
  ELSE IF "stuck lease freed too early" \in Wrong THEN rec.dur
  ELSE Max(LeaseTicks, rec.dur)

(***************************************************************************)
(* Processes                                                               *)
(***************************************************************************)
(* A process reads the lease when it starts. A later read is a later start. *)
Fresh(inc, version, rec) ==
  [mode |-> "follow", \* follow, reserve, lead, drain, empty, ending
   view |-> version,  \* the version that it saw last
   wait |-> IF IsNamed(rec) THEN LeaseTicks ELSE WaitOn(rec), \* time until the record that it saw last expires
   valid |-> 0,       \* time until validUntil
   tasks |-> FALSE,   \* whether tasks of a term are running
   hold |-> 0,        \* time until it may act after it created a deleted lease again
   nonce |-> 0, nonceLeft |-> 0, nonceUsed |-> FALSE, \* the last answer, counted from its send
   poll |-> 0,        \* a lease duration from the send of the last poll
   podGone |-> FALSE, \* whether a client force-deleted the Pod of the running process
   names |-> inc,     \* the start of the container that it names as its own
   known |-> EpochOf(rec), \* the greatest epoch that it knows
   old |-> FALSE,     \* whether it acquired the lease of its term before the restore
   knew |-> FALSE,    \* whether it had seen the term in force at the restore
   stuck |-> StuckAfter(rec), \* time until it may free a lease that nobody writes
   grace |-> 0,       \* how long a write from before the restore may entitle it to act
   inc |-> inc]       \* its number of restarts; part of its identity

(* `old`: its lease was acquired before the last restore, which is at position `back` of the history. `stale`: a write from before a
   restore has taken effect after it, or a write has replaced a record that it was not based on. *)
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

(* A leader. With "offered" it drains and has offered its lease. *)
InitLed ==
  /\ \E leader \in Replicas :
       LET offers == "offered" \in Features
           rec == [Released EXCEPT !.holder = <<leader, 0>>, !.term = 1, !.epoch = 1, !.stamp = 1, !.src = <<leader, 0, 1>>, !.offer = offers]
           holding == [Fresh(0, 1, rec) EXCEPT !.mode = IF offers THEN "drain" ELSE "lead", !.wait = 0, !.tasks = TRUE, !.valid = Validity]
       IN /\ StartsWith(rec)
          /\ proc = [p \in Processes |-> IF p = leader THEN holding ELSE Fresh(0, 1, rec)]
  /\ last = [NoTerm EXCEPT !.epoch = 1]

Init == IF Features \cap {"led", "offered"} # {} THEN InitLed ELSE InitFree

(* The process crashes and restarts with a new identity. Its writes may take effect later. If the status of its Pod is out of date, it
   names the container of its predecessor. Only one process crashes if the model begins with a leader. *)
Crash(p) ==
  /\ proc[p].inc < MaxRestarts
  /\ "led" \in Features => \A q \in Processes : proc[q].inc = 0
  /\ \E names \in proc[p].inc..(proc[p].inc + 1) :
       /\ "death" \notin Features \/ "coordinator" \in Features => names = proc[p].inc + 1
       /\ proc' = [proc EXCEPT ![p] = [Fresh(@.inc + 1, Version, Stored) EXCEPT !.names = names]]
  /\ msg' = [msg EXCEPT ![p] = [s \in Slots |->
       IF @[s] # NoWrite /\ MayLand(@[s], Stored.num) THEN [@[s] EXCEPT !.left = 0] ELSE NoWrite]]
  /\ UNCHANGED <<hist, time, slow, last, ordered>>

(* The part of the state that the next steps depend on. Versions that no process can see or overwrite do not matter. *)
Least(S) == CHOOSE n \in S : \A m \in S : n <= m
Sent == {msg[p][s] : p \in Processes, s \in Slots} \ {NoWrite}
Floor == Least({Max(1, Version - 1)} \cup {proc[p].view : p \in Processes} \cup {m.base : m \in Sent})
State == <<Version, SubSeq(hist, Floor, Version), proc, msg, time, slow, last, ordered, Deletions>>
=============================================================================
