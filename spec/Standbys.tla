------------------------------ MODULE Standbys ------------------------------
(***************************************************************************)
(* The list of standbys: who joins and leaves it, who tries first, and     *)
(* when an eager leader hands over. Requests and watches take no time. Of  *)
(* writes that are sent together, the first succeeds and the others fail.  *)
(* A tick is the time that each standby is given. Replicas act as soon as  *)
(* they can, and time passes only when none can act.                       *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Old, New,    \* the replicas of two revisions: numbers below 9, which also order their names
  Running,     \* the replicas that run at first
  Eager,       \* whether leaders are eager
  MaxList,     \* the length of a full list
  MaxEvents,   \* number of stops, crashes, starts and step-downs
  MaxForeign,  \* number of terms of a client that does not know the list
  Wrong        \* the broken rules; {} is the protocol

VARIABLES
  lease,   \* the stored lease
  proc,    \* what each replica knows and does
  msg,     \* the write of each replica
  foreign, \* the other client: how many terms it may still have, when it renews, whether others wrote since
  world,   \* what is left of the events, and how many replicas started
  seen     \* what the invariants count

vars == <<lease, proc, msg, foreign, world, seen>>

Replicas == Old \cup New
Nobody == 0
Other == 90
Id(p, inc) == 10 * p + inc
RevisionOf(id) == IF (id \div 10) \in New THEN 2 ELSE 1

(* Times in ticks. *)
Gap == 2          \* how long standbys of other revisions wait in addition
Holds == {1}      \* how long replicas hold back that are not on the list: all equally long, so that their writes conflict
Spread == 2       \* how much longer they hold back before they join
RenewTicks == 4   \* between two renewals
Expire == 6       \* the lease duration
CoolTicks == 5    \* the cool-down
HoldMax == 1
AgeMax == Expire + MaxList + Gap + HoldMax
MaxTries == 2     \* number of attempts to join, or to leave
MaxWrites == 3    \* number of writes of one replica in a term: to join, again after newer revisions displaced it, and to leave
Never == 0 - 1

Less(n) == IF n > 0 THEN n - 1 ELSE n
Larger(a, b) == IF a > b THEN a ELSE b
Smallest(S) == CHOOSE n \in S : \A m \in S : n <= m

(***************************************************************************)
(* The list. `bound`: it was written in the term of the record. `keeper`:  *)
(* the leader that keeps it. `by` wrote the release.                       *)
(***************************************************************************)
Empty == [holder |-> Nobody, term |-> 0, stamp |-> 0, renewed |-> FALSE, by |-> Nobody, keeper |-> Nobody,
          bound |-> TRUE, list |-> <<>>]

Listed(rec) == SelectSeq(rec.list, LAMBDA s : s.id # rec.holder)
Read(rec) == IF rec.bound \/ "list not bound to its term" \in Wrong THEN Listed(rec) ELSE <<>>
Members(list) == {list[i] : i \in 1..Len(list)}
Names(list) == {s.id : s \in Members(list)}
Place(list, id) == IF id \in Names(list) THEN CHOOSE i \in 1..Len(list) : list[i].id = id ELSE 0
Without(list, id) == SelectSeq(list, LAMBDA s : s.id # id)
After(list, n) == SubSeq(list, n + 1, Len(list))
Cut(list) == IF "list without an end" \in Wrong THEN list ELSE SubSeq(list, 1, IF Len(list) < MaxList THEN Len(list) ELSE MaxList)

StartOf(S, rev) == LET starts == {s.since : s \in {t \in S : RevisionOf(t.id) = rev}}
                   IN CHOOSE n \in starts : \A m \in starts : n >= m

(* The newest revision first, and the names within a revision. *)
Precedes(S, a, b) == \/ StartOf(S, RevisionOf(a.id)) > StartOf(S, RevisionOf(b.id))
                     \/ StartOf(S, RevisionOf(a.id)) = StartOf(S, RevisionOf(b.id)) /\ a.id < b.id
First(S, rest) == CHOOSE s \in rest : \A t \in rest \ {s} : Precedes(S, s, t)
RECURSIVE Sorted(_, _)
Sorted(S, rest) == IF rest = {} THEN <<>> ELSE LET s == First(S, rest) IN <<s>> \o Sorted(S, rest \ {s})
InOrder(S) == Sorted(S, S)

Newest(S) == RevisionOf(InOrder(S)[1].id)

(***************************************************************************)
(* Replicas                                                                *)
(***************************************************************************)
Me(p) == Id(p, proc[p].inc)
AsStandby(p) == [id |-> Me(p), since |-> proc[p].since]
Runs(id) == LET p == id \div 10 IN p \in Replicas /\ proc[p].mode \notin {"down", "leave"} /\ Me(p) = id
Follows(p) == proc[p].mode = "follow"
NoWrite == [kind |-> "none"]

HasRoom(rec, me) ==
  LET list == Read(rec)
      newest == Newest(Members(list) \cup {me})
  IN /\ me.id \notin Names(list)
     /\ \/ Len(list) < MaxList \/ "list without an end" \in Wrong
        \/ RevisionOf(me.id) = newest /\ \E s \in Members(list) : RevisionOf(s.id) # newest

IsListable(rec, me) == rec.holder \notin {Nobody, me.id} /\ HasRoom(rec, me)

IsFirstOfNewest(rec, me) ==
  LET list == Read(rec)
  IN /\ \A s \in Members(list) : RevisionOf(s.id) # RevisionOf(me.id)
     /\ Newest(Members(list) \cup {me}) = RevisionOf(me.id)

IsKept(rec) == rec.bound /\ rec.keeper = rec.holder

(* An eager leader prefers the first standby. *)
HasNewer(rec, p) ==
  LET list == Read(rec)
  IN /\ list # <<>>
     /\ RevisionOf(list[1].id) # RevisionOf(Me(p)) \/ "eager within a revision" \in Wrong
     /\ list[1].since > proc[p].since \/ "eager for an older revision" \in Wrong

(* How long p lets others try. *)
WaitOf(rec, p) ==
  LET list == Read(rec)
      place == Place(list, Me(p))
      gap == IF list # <<>> /\ RevisionOf(list[1].id) # RevisionOf(Me(p)) THEN Gap ELSE 0
  IN IF "standbys try at once" \in Wrong THEN 0
     ELSE IF place > 0 THEN place - 1 + gap ELSE Len(list) + gap + proc[p].hold

IsOwn(rec, p) == rec.holder = Nobody /\ rec.by = Me(p)

MayAcquire(p) ==
  LET rec == lease
  IN /\ rec.holder # Me(p) /\ proc[p].cool = 0
     /\ IF IsOwn(rec, p) THEN TRUE
        ELSE proc[p].age >= (IF rec.holder = Nobody THEN 0 ELSE Expire) + WaitOf(rec, p)

(* When a replica joins. Under a holder that keeps no list, it joins just before the next renewal. *)
DueOf(rec, me, hold) ==
  IF ~IsListable(rec, me) THEN Never
  ELSE IF ~IsKept(rec) THEN 0
  ELSE IF IsFirstOfNewest(rec, me) THEN hold ELSE hold * Spread

MayWriteList(p) ==
  \/ IsKept(lease)
  \/ proc[p].age = RenewTicks - 1 \/ "announcement under another client at once" \in Wrong

(* p, which follows, sees a record. Only the fields that electors compare end its wait, and its cool-down. *)
Seeing(me, rec, p) ==
  LET isNew == rec.term # lease.term
      isChanged == isNew \/ rec.stamp # lease.stamp
      counts == isChanged \/ "announcement counted as a renewal" \in Wrong
      due == DueOf(rec, AsStandby(p), me.hold)
  IN [me EXCEPT !.age = IF counts THEN 0 ELSE @,
                !.cool = IF isChanged /\ rec.holder \notin {Nobody, Id(p, me.inc)} THEN 0 ELSE @,
                !.tries = IF isNew THEN 0 ELSE @,
                !.due = IF isNew \/ @ = Never \/ due = Never THEN due ELSE @]

(* p sees what another process wrote. *)
SeenBy(p, rec) ==
  LET me == proc[p]
  IN CASE me.mode = "follow" /\ rec.holder = Me(p) -> [me EXCEPT !.mode = "lead", !.renew = RenewTicks, !.cool = 0, !.due = Never]
       [] me.mode \in {"lead", "end"} /\ rec.holder # Me(p) -> Seeing([me EXCEPT !.mode = "follow"], rec, p)
       [] me.mode \in {"follow", "leave"} -> Seeing(me, rec, p)
       [] OTHER -> me

(***************************************************************************)
(* Writes: a compare-and-swap on the version that the replica saw. It is   *)
(* the stored version, since a write that another one overtakes fails.     *)
(***************************************************************************)
Send(p, kind, rec) ==
  /\ msg[p] = NoWrite
  /\ msg' = [msg EXCEPT ![p] = [kind |-> kind, rec |-> rec]]

(* The same stamp for two successive writes of the lease fields would look like no change. *)
Stamp(rec) == 1 - rec.stamp
NextTerm(rec) == (rec.term + 1) % 4
Note(rec, list) == [rec EXCEPT !.list = Cut(list), !.bound = TRUE, !.keeper = IF rec.bound THEN @ ELSE Nobody]
Kept(rec, list) == [rec EXCEPT !.list = Cut(list), !.bound = TRUE, !.keeper = rec.holder]

(* Those whose turn had not come. A replica that is not on the list keeps the last, which may be a leader that has just released. *)
Remaining(rec, p) ==
  LET list == Read(rec)
      place == Place(list, Me(p))
  IN IF "missed turns kept" \in Wrong THEN Without(list, Me(p))
     ELSE IF place > 0 THEN After(list, place)
     ELSE IF rec.holder = Nobody THEN After(list, IF Len(list) = 0 THEN 0 ELSE Len(list) - 1) ELSE <<>>

Acquire(p) ==
  LET rec == lease
  IN /\ Follows(p) /\ MayAcquire(p)
     /\ Send(p, "acquire",
          Kept([rec EXCEPT !.holder = Me(p), !.term = NextTerm(rec), !.stamp = Stamp(rec), !.renewed = FALSE, !.by = Nobody],
               Remaining(rec, p)))
     /\ UNCHANGED <<lease, proc, foreign, world, seen>>

Renew(p) ==
  LET rec == [lease EXCEPT !.stamp = Stamp(lease), !.renewed = TRUE]
  IN /\ proc[p].mode = "lead" /\ proc[p].renew = 0
     /\ Send(p, "renew", IF IsKept(rec) THEN rec ELSE Kept(rec, <<>>))
     /\ UNCHANGED <<lease, proc, foreign, world, seen>>

(* The releasing leader becomes the last standby if it follows again. *)
Returning(p) == IF proc[p].stops THEN <<>> ELSE <<AsStandby(p)>>

Release(p) ==
  LET rec == lease
  IN /\ proc[p].mode = "end"
     /\ Send(p, "release",
          Kept([rec EXCEPT !.holder = Nobody, !.stamp = Stamp(rec), !.by = Me(p)], Read(rec) \o Returning(p)))
     /\ UNCHANGED <<lease, proc, foreign, world, seen>>

(* The standby that answers the offer is the first that runs. *)
Successors(rec) ==
  LET list == Read(rec)
      live == {i \in 1..Len(list) : Runs(list[i].id)}
  IN IF live # {} THEN {list[Smallest(live)].id \div 10} ELSE {p \in Replicas : Follows(p)}

Transfer(p) ==
  LET rec == lease
      list == Read(rec)
  IN /\ proc[p].mode = "end"
     /\ \E q \in Successors(rec) \ {p} :
          LET place == Place(list, Me(q))
              left == IF "ghosts kept by a transfer" \in Wrong THEN Without(list, Me(q))
                      ELSE IF place > 0 THEN After(list, place) ELSE <<>>
          IN Send(p, "release",
               Kept([rec EXCEPT !.holder = Me(q), !.term = NextTerm(rec), !.stamp = Stamp(rec), !.renewed = FALSE],
                    left \o Returning(p)))
     /\ UNCHANGED <<lease, proc, foreign, world, seen>>

Join(p) ==
  LET rec == lease
      again == "announcement repeated" \in Wrong /\ rec.holder \notin {Nobody, Me(p)}
  IN /\ Follows(p)
     /\ \/ proc[p].due = 0 /\ proc[p].tries < MaxTries /\ IsListable(rec, AsStandby(p)) /\ MayWriteList(p)
        \/ again
     /\ Send(p, "join", Note(rec, InOrder({s \in Members(Read(rec)) : s.id # Me(p)} \cup {AsStandby(p)})))
     /\ proc' = [proc EXCEPT ![p].tries = IF again THEN @ ELSE @ + 1]
     /\ UNCHANGED <<lease, foreign, world, seen>>

(* A replica that stops leaves the list of a leader that keeps one. *)
MayLeave(p) ==
  LET rec == lease
  IN /\ rec.holder # Nobody /\ Me(p) \in Names(Read(rec)) /\ proc[p].tries < MaxTries
     /\ IsKept(rec) \/ "leave under another client" \in Wrong

Leave(p) ==
  /\ proc[p].mode = "leave" /\ msg[p] = NoWrite
  /\ IF MayLeave(p)
     THEN /\ Send(p, "leave", Note(lease, Without(Read(lease), Me(p))))
          /\ proc' = [proc EXCEPT ![p].tries = @ + 1]
     ELSE proc' = [proc EXCEPT ![p].mode = "down"] /\ UNCHANGED msg
  /\ UNCHANGED <<lease, foreign, world, seen>>

(***************************************************************************)
(* What the invariants count. `idle`: ticks without a leader, of `allowed`.*)
(* `paid`: crashed standbys that a successor waited for. `credit`: ends of *)
(* terms without a new leader yet. `eager`: how often eager leaders may    *)
(* still hand over. `vain`: one ended its term for a crashed standby.      *)
(***************************************************************************)
(* How long a free lease may stay free, from the stored list and the replicas that run. *)
Bound(rec, procs) ==
  LET list == IF rec.bound THEN Listed(rec) ELSE <<>>
      tries(id) == LET p == id \div 10 IN procs[p].mode = "follow" /\ procs[p].cool = 0 /\ Id(p, procs[p].inc) = id
      able == {i \in 1..Len(list) : tries(list[i].id)}
      others == {p \in Replicas : tries(Id(p, procs[p].inc))}
      gap(id) == IF RevisionOf(list[1].id) # RevisionOf(id) THEN Gap ELSE 0
  IN IF able # {} THEN LET i == Smallest(able) IN i - 1 + gap(list[i].id)
     ELSE IF others # {} THEN Len(list) + (IF list # <<>> THEN Gap ELSE 0) + HoldMax
     ELSE CoolTicks

Allowed(rec, procs) == Bound(rec, procs) + IF rec.holder = Nobody THEN 0 ELSE Expire

HasLeader == lease.holder = Other \/ \E p \in Replicas : proc[p].mode \in {"lead", "end"} /\ lease.holder = Me(p)
HasFollower == \E p \in Replicas : Follows(p)

(* A transfer may name a replica that has ended since. *)
HasSuccessor(rec, procs) ==
  \E q \in Replicas : rec.holder = Id(q, procs[q].inc) /\ procs[q].mode \in {"follow", "lead"}

IsListed(p) == Place(Read(lease), Me(p)) > 0

(* The crashed standbys before p on the list of the free lease. *)
WaitedFor(p) ==
  LET list == Read(lease)
      place == Place(list, Me(p))
      before == IF IsOwn(lease, p) THEN 0 ELSE IF place > 0 THEN place - 1 ELSE Len(list)
  IN {list[i].id : i \in {j \in 1..before : ~Runs(list[j].id)}}

(* The crashed standbys before the successor to which the lease is transferred: it waited for their answers. *)
PassedBy(rec) ==
  LET list == Read(lease)
      place == Place(list, rec.holder)
  IN {list[i].id : i \in {j \in 1..(place - 1) : ~Runs(list[j].id)}}

(* Whether p lets a standby before it wait. A replica of the newest revision may precede standbys of others. *)
Passed(p) ==
  LET list == Read(lease)
      place == Place(list, Me(p))
      isNewest == list # <<>> /\ RevisionOf(list[1].id) = RevisionOf(Me(p))
  IN \E i \in 1..(IF place > 0 THEN place - 1 ELSE Len(list)) :
       LET id == list[i].id
       IN /\ Runs(id) /\ Follows(id \div 10) /\ proc[id \div 10].cool = 0 /\ id \notin {Me(p), lease.by}
          /\ isNewest => RevisionOf(id) = RevisionOf(Me(p))

Landed(p, kind, procs) ==
  CASE kind = "acquire" ->
         [seen EXCEPT !.idle = 0, !.allowed = 0, !.refused = 0, !.credit = @ - 1,
                      !.lands = [q \in Replicas |-> 0],
                      !.paid = @ \cup (IF lease.holder = Nobody /\ IsListed(p) THEN WaitedFor(p) ELSE {}),
                      !.twice = @ \/ (lease.holder = Nobody /\ IsListed(p) /\ WaitedFor(p) \cap seen.paid # {}),
                      !.passed = @ \/ (lease.holder = Nobody /\ Passed(p))]
    [] kind = "release" ->
         [seen EXCEPT !.idle = 0, !.refused = 0,
                      !.paid = @ \cup PassedBy(msg[p].rec),
                      !.twice = @ \/ PassedBy(msg[p].rec) \cap seen.paid # {},
                      !.allowed = IF HasSuccessor(msg[p].rec, procs) THEN 0 ELSE Allowed(msg[p].rec, procs),
                      !.credit = IF HasSuccessor(msg[p].rec, procs) THEN @ - 1 ELSE @,
                      !.lands = IF msg[p].rec.holder = Nobody THEN @ ELSE [q \in Replicas |-> 0]]
    [] kind \in {"join", "leave"} -> [seen EXCEPT !.lands[p] = IF @ > MaxWrites THEN @ ELSE @ + 1,
                                             !.allowed = IF HasLeader THEN @ ELSE Larger(@, Allowed(msg[p].rec, procs))]
    [] OTHER -> seen

(* The state of p after its write has changed the lease. A stop during the write comes after it. *)
Done(p, kind, rec) ==
  LET me == proc[p]
  IN CASE kind = "renew" -> [me EXCEPT !.renew = RenewTicks]
       [] kind = "acquire" -> [me EXCEPT !.mode = "lead", !.renew = RenewTicks, !.due = Never, !.cool = 0]
       [] kind = "release" ->
            IF me.stops THEN [me EXCEPT !.mode = "down"]
            ELSE [Seeing([me EXCEPT !.mode = "follow"], rec, p) EXCEPT
                    !.cool = IF rec.holder # Nobody \/ "eager without a cool-down" \in Wrong THEN 0 ELSE CoolTicks]
       [] kind = "join" -> [Seeing(me, rec, p) EXCEPT
                               !.tries = IF me.mode = "leave" THEN 0 ELSE @, !.due = Never,
                               !.age = IF "announcement ends the wait" \in Wrong THEN AgeMax ELSE @]
       [] OTHER -> [me EXCEPT !.mode = "down"]

(* The lease changes. Writes in flight fail. *)
Changes(rec, procs) ==
  /\ lease' = rec
  /\ msg' = [q \in Replicas |-> NoWrite]
  /\ proc' = procs

TakesEffect(p) ==
  LET m == msg[p]
      procs == [q \in Replicas |-> IF q = p THEN Done(p, m.kind, m.rec) ELSE SeenBy(q, m.rec)]
      fails == \E q \in Replicas \ {p} : msg[q] # NoWrite /\ msg[q].kind = "release"
      next == Landed(p, m.kind, procs)
  IN /\ m # NoWrite
     /\ Changes(m.rec, procs)
     /\ foreign' = [foreign EXCEPT !.touched = lease.holder = Other]
     /\ seen' = [next EXCEPT !.refused = IF fails THEN @ + 1 ELSE @]
     /\ UNCHANGED world

(***************************************************************************)
(* Leaders that hand over, and events                                      *)
(***************************************************************************)
(* The leader offers the lease to the standby that it prefers. *)
Proposes(p) ==
  Eager /\ proc[p].mode = "lead" /\ (lease.renewed \/ "eager before a renewal" \in Wrong) /\ HasNewer(lease, p)

(* A standby that runs answers at once. *)
EagerEnd(p) ==
  LET isAnswered == Runs(Read(lease)[1].id)
  IN /\ Proposes(p)
     /\ isAnswered \/ "crashed standby not asked" \in Wrong
     /\ proc' = [proc EXCEPT ![p].mode = "end", ![p].stops = FALSE]
     /\ seen' = [seen EXCEPT !.credit = @ + 1, !.eager = @ - 1, !.vain = @ \/ ~isAnswered]
     /\ UNCHANGED <<lease, msg, foreign, world>>

(* A standby that does not answer leaves the list with the next renewal. *)
PassOver(p) ==
  LET rec == lease
      list == Read(rec)
  IN /\ Proposes(p) /\ ~Runs(list[1].id)
     /\ Send(p, "renew", Kept([rec EXCEPT !.stamp = Stamp(rec)], After(list, 1)))
     /\ UNCHANGED <<lease, proc, foreign, world, seen>>

(* An event may be the reason for one more eager end. *)
IsMixed == Old # {} /\ New # {}
Regained == IF IsMixed THEN seen.eager + 1 ELSE seen.eager

Event == world.events > 0
Spent == [world EXCEPT !.events = @ - 1]
(* Events while nobody leads begin the wait again. *)
Counting(procs) == IF HasLeader THEN seen ELSE [seen EXCEPT !.idle = 0, !.allowed = Allowed(lease, procs)]

End(p, stops) ==
  /\ Event /\ proc[p].mode = "lead"
  /\ proc' = [proc EXCEPT ![p].mode = "end", ![p].stops = stops]
  /\ world' = Spent /\ seen' = [seen EXCEPT !.credit = @ + 1, !.eager = Regained]
  /\ UNCHANGED <<lease, msg, foreign>>

StopFollower(p) ==
  /\ Event /\ Follows(p) /\ (msg[p] = NoWrite \/ msg[p].kind = "join")
  /\ proc' = [proc EXCEPT ![p].mode = "leave", ![p].tries = 0]
  /\ world' = Spent /\ seen' = Counting(proc')
  /\ UNCHANGED <<lease, msg, foreign>>

Crash(p) ==
  /\ Event /\ proc[p].mode # "down"
  /\ proc' = [proc EXCEPT ![p].mode = "down"]
  /\ msg' = [msg EXCEPT ![p] = NoWrite]
  /\ world' = Spent
  /\ seen' = IF lease.holder = Me(p)
             THEN [seen EXCEPT !.credit = IF proc[p].mode = "end" THEN @ ELSE @ + 1, !.eager = Regained, !.idle = 0, !.allowed = Allowed(lease, proc')]
             ELSE Counting(proc')
  /\ UNCHANGED <<lease, foreign>>

Fresh(p, inc, hold, since) ==
  [mode |-> "follow", inc |-> inc, since |-> since, age |-> 0, cool |-> 0, hold |-> hold,
   tries |-> 0, due |-> Never, renew |-> 0, stops |-> FALSE]

Start(p) ==
  /\ Event /\ proc[p].mode = "down" /\ proc[p].inc < 2
  /\ \E hold \in Holds :
       LET me == Fresh(p, proc[p].inc + 1, hold, world.starts + 1)
       IN proc' = [proc EXCEPT ![p] = [me EXCEPT !.due = DueOf(lease, [id |-> Id(p, me.inc), since |-> me.since], hold)]]
  /\ world' = [Spent EXCEPT !.starts = @ + 1]
  /\ seen' = [Counting(proc') EXCEPT !.eager = Regained, !.lands[p] = 0]
  /\ UNCHANGED <<lease, msg, foreign>>

(***************************************************************************)
(* Another client: it does not know the list, and keeps or drops the       *)
(* annotations. Its release fails if the lease has changed since its last  *)
(* renewal, like that of client-go before 1.34.                            *)
(***************************************************************************)
Overwrite(rec) ==
  /\ Changes(rec, [p \in Replicas |-> SeenBy(p, rec)])
  /\ UNCHANGED world

OtherAcquires ==
  /\ foreign.terms > 0 /\ lease.holder = Nobody
  /\ \E note \in {[lease EXCEPT !.bound = FALSE], [lease EXCEPT !.bound = FALSE, !.list = <<>>, !.keeper = Nobody]} :
       Overwrite([note EXCEPT !.holder = Other, !.term = NextTerm(lease), !.stamp = Stamp(lease), !.renewed = FALSE, !.by = Nobody])
  /\ foreign' = [foreign EXCEPT !.terms = @ - 1, !.renew = RenewTicks, !.touched = FALSE]
  /\ seen' = [seen EXCEPT !.idle = 0, !.allowed = 0, !.credit = @ - 1, !.lands = [q \in Replicas |-> 0]]

OtherRenews ==
  /\ lease.holder = Other /\ foreign.renew = 0
  /\ Overwrite([lease EXCEPT !.stamp = Stamp(lease), !.renewed = TRUE])
  /\ foreign' = [foreign EXCEPT !.renew = RenewTicks, !.touched = FALSE]
  /\ UNCHANGED seen

(* Not in the moment before a renewal, which belongs to the followers. *)
OtherReleases ==
  /\ lease.holder = Other /\ foreign.renew > 1
  /\ Overwrite([lease EXCEPT !.holder = Nobody, !.stamp = Stamp(lease), !.by = Nobody])
  /\ foreign' = [foreign EXCEPT !.refused = @ \/ foreign.touched]
  /\ seen' = [seen EXCEPT !.idle = 0, !.allowed = Bound(lease', proc), !.credit = @ + 1]

(***************************************************************************)
(* Steps                                                                   *)
(***************************************************************************)
Urgent ==
  \/ OtherRenews
  \/ \E p \in Replicas :
       TakesEffect(p) \/ Acquire(p) \/ Renew(p) \/ Release(p) \/ Transfer(p) \/ Join(p) \/ Leave(p) \/ EagerEnd(p)
       \/ PassOver(p)

Tick ==
  /\ ~ENABLED Urgent
  /\ proc' = [p \in Replicas |->
       LET me == proc[p]
       IN IF me.mode = "down" THEN me
          ELSE [me EXCEPT !.age = IF me.mode = "follow" /\ @ < AgeMax THEN @ + 1 ELSE @,
                          !.cool = Less(@), !.due = Less(@), !.renew = Less(@)]]
  /\ foreign' = [foreign EXCEPT !.renew = Less(@)]
  /\ seen' = IF HasLeader \/ ~HasFollower THEN seen ELSE [seen EXCEPT !.idle = @ + 1]
  /\ UNCHANGED <<lease, msg, world>>

(* A replica that does not run may have crashed as a standby. *)
Ghosts == {<<>>} \cup {<<[id |-> Id(p, 0), since |-> 1]>> : p \in Replicas \ Running}

Init ==
  \E leader \in Running, holds \in [Replicas -> Holds], ghosts \in Ghosts :
    LET held == [Empty EXCEPT !.holder = Id(leader, 0), !.keeper = Id(leader, 0), !.list = ghosts]
        begun(p) == Fresh(p, 0, holds[p], 0)
    IN /\ lease = held
       /\ proc = [p \in Replicas |->
            IF p = leader THEN [begun(p) EXCEPT !.mode = "lead", !.renew = RenewTicks]
            ELSE IF p \in Running THEN [begun(p) EXCEPT !.due = holds[p] * Spread]
            ELSE [begun(p) EXCEPT !.mode = "down"]]
       /\ msg = [p \in Replicas |-> NoWrite]
       /\ foreign = [terms |-> MaxForeign, renew |-> 0, touched |-> FALSE, refused |-> FALSE]
       /\ world = [events |-> MaxEvents, starts |-> 1]
       /\ seen = [idle |-> 0, allowed |-> 0, refused |-> 0, credit |-> 0, eager |-> IF IsMixed THEN 1 ELSE 0, paid |-> {}, twice |-> FALSE, vain |-> FALSE,
                  passed |-> FALSE, lands |-> [p \in Replicas |-> 0]]

Next ==
  \/ Urgent \/ Tick \/ OtherAcquires \/ OtherReleases
  \/ \E p \in Replicas : End(p, TRUE) \/ End(p, FALSE) \/ StopFollower(p) \/ Crash(p) \/ Start(p)

SpecStandbys == Init /\ [][Next]_vars

(***************************************************************************)
(* Invariants                                                              *)
(***************************************************************************)
(* A list is short, names nobody twice, and is in force only in its term. *)
B1 == LET list == Read(lease) IN Len(list) <= MaxList /\ Cardinality(Names(list)) = Len(list)

(* A free lease is acquired in time: each crashed standby costs its slot. A leader that crashed is succeeded after the lease duration. *)
B2 == HasFollower => seen.idle <= seen.allowed

(* No standby is passed over that could acquire the lease. *)
B3 == ~seen.passed

(* A crashed standby delays one successor at most. *)
B4 == ~seen.twice

(* Announcements refuse a release a bounded number of times: each replica writes the list a bounded number of times in a term. *)
B5 == seen.refused <= MaxWrites * Cardinality(Replicas) /\ \A p \in Replicas : seen.lands[p] <= MaxWrites

(* The leader changes only after a leader has ended its term. *)
B6 == seen.credit >= 0

(* Eager leaders hand over at most once for each event, and never within one revision. *)
B7 == seen.eager >= 0

(* Announcements do not refuse the release of a client whose last renewal is over. *)
B8 == ~foreign.refused

(* No eager leader ends its term for a crashed standby. *)
B9 == ~seen.vain
=============================================================================
