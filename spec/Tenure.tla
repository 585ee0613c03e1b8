------------------------------- MODULE Tenure -------------------------------
(***************************************************************************)
(* The rules of a replica, the wrong variants of these rules, and the      *)
(* invariants. A paused process is a process that takes no step, so pauses *)
(* need no rule.                                                           *)
(***************************************************************************)
EXTENDS Lease, TLC

(***************************************************************************)
(* Terms                                                                   *)
(***************************************************************************)
AnswerVersion(rec) ==
  CHOOSE v \in 1..Version : /\ hist[v].answer # NoAnswer
                            /\ hist[v].answer[1] = rec.holder /\ hist[v].answer[2] = rec.echo
                            /\ \A w \in 1..(v - 1) : hist[w].answer # hist[v].answer

(* The fencing token of the term under this record. *)
Epoch(rec) ==
  IF "transitions as epoch" \in Wrong THEN rec.trans
  ELSE IF "answer's version as epoch" \in Wrong /\ rec.echo # 0 THEN AnswerVersion(rec)
  ELSE rec.epoch

(* Process p continues as `next`. A term may begin with that. *)
Become(p, next) ==
  LET begins == p \in Replicas /\ next.tasks /\ ~proc[p].tasks
      epoch == Epoch(hist[next.view])
      isOld == next.view < last.back
      isForgotten == isOld /\ ~last.old
      (* Once the store has lost a term, a process that never saw that term cannot exceed its epoch. *)
      isExcused == last.stale \/ isForgotten \/ (last.old /\ ~isOld /\ ~proc[p].knew)
  IN /\ proc' = [proc EXCEPT ![p] = IF begins THEN [next EXCEPT !.old = isOld, !.known = epoch] ELSE next]
     /\ last' = IF begins /\ ~isForgotten THEN [last EXCEPT !.epoch = epoch, !.old = isOld] ELSE last
     /\ ordered' = (ordered /\ (begins => (epoch > last.epoch \/ isExcused)))
     /\ UNCHANGED <<hist, time, slow>>

(* The state of p after it has lost the lease. *)
Lost(p, view, wait) ==
  [proc[p] EXCEPT !.mode = IF proc[p].tasks THEN "ending" ELSE "follow", !.view = view, !.wait = wait,
                  !.valid = IF proc[p].tasks THEN @ ELSE 0]

(***************************************************************************)
(* Observing                                                               *)
(***************************************************************************)
(* client-go and similar electors compare times in whole seconds. *)
InSeconds(rec) == <<rec.here, rec.holder, rec.trans, rec.sec>>

Changed(p, rec) ==
  IF p \in Peers THEN InSeconds(Seen(p)) # InSeconds(rec)
  ELSE "change judged by version" \in Wrong \/ ~SameFields(Seen(p), rec)

(* An edit does not shorten the wait for the holder, who may not know of it. *)
IsEdited(p, rec) ==
  rec.here /\ WrittenAs(Seen(p), rec) /\ "expiry by an edited duration" \notin Wrong

(* Whether the holder has renewed since p saw the record. A client may have shortened the lease after that, unseen. *)
IsRenewed(p, rec) ==
  rec.holder # Nobody /\ rec.holder = Seen(p).holder /\ rec.term = Seen(p).term /\ ~WrittenAs(Seen(p), rec)

(* How long others respect a record with this duration, by any clock. *)
GrantedFor(dur) == dur - (IF "clocks without a margin" \in Wrong THEN 0 ELSE MarginTicks)

(* From when the holder sees an edit until it has renewed the lease, it acts no longer than the edited record allows. *)
Cut(p, rec) ==
  LET granted == GrantedFor(rec.dur)
  IN IF rec.dur < Seen(p).dur /\ granted < proc[p].valid THEN granted ELSE proc[p].valid

(* An older version than the last one, or another record with the same version, proves a restore. *)
IsBack(p, rec) == rec.num < Seen(p).num \/ (rec.num = Seen(p).num /\ ~SameFields(rec, Seen(p)))

(* How long p waits for another change of the record after it has seen one. *)
WaitFor(p, rec) ==
  IF IsBack(p, rec) /\ "backup believed" \notin Wrong THEN Max(LeaseTicks, WaitOn(rec))
  ELSE IF ~Changed(p, rec) THEN proc[p].wait
  ELSE IF "expiry from the send of a poll" \in Wrong THEN proc[p].poll
  ELSE IF p \in Replicas /\ IsEdited(p, rec) THEN Max(proc[p].wait, WaitOn(rec))
  ELSE IF p \in Replicas /\ IsRenewed(p, rec) /\ "renewals before an edit forgotten" \notin Wrong
       THEN Max(WaitOn(rec), LeaseTicks)
  ELSE WaitOn(rec)

(***************************************************************************)
(* The holder of before may still act when a coordinator names another     *)
(* one. The new holder acquires the lease and holds it for as long before  *)
(* it acts. Every other process waits as long. A watch that is connected   *)
(* shows every version. After a gap, the whole duration counts.            *)
(***************************************************************************)
GuardAgainst(p, version) ==
  IF "named holder believed" \in Wrong THEN 0
  ELSE IF version = proc[p].view + 1 \/ "gap not noticed" \in Wrong THEN proc[p].wait
  ELSE LeaseTicks

WaitAt(p, version) ==
  LET rec == hist[version]
      guard == GuardAgainst(p, version)
  IN IF p \in Peers \/ ~IsNamed(rec) THEN WaitFor(p, rec)
     ELSE IF rec.holder = Id(p) THEN guard
     ELSE IF "duration of the coordinator waited for" \in Wrong THEN WaitOn(rec)
     ELSE Max(guard, WaitOn(rec))

(* A second write within one second is no renewal for client-go. *)
Extends(rec, version) ==
  \/ Peers = {} \/ "second renewal in one second" \in Wrong
  \/ rec.term = rec.stamp \/ hist[version - 1].sec # rec.sec

(* After a deletion, a former leader may still act. A replica that creates the lease again holds it for a lease duration before it acts. *)
HoldAfter(p, version) ==
  IF p \in Replicas /\ IsNamed(hist[version - 1])
  THEN IF "guard forgotten" \in Wrong THEN proc[p].wait ELSE Max(proc[p].wait, proc[p].hold)
  ELSE IF MaxDeletions = 0 \/ p \in Peers \/ hist[version - 1].here THEN proc[p].hold
  ELSE IF Wrong \cap {"deleted lease created and acted on", "deleted lease waited for"} # {} THEN 0
  ELSE LeaseTicks

(* p learns that its write m became this version, which entitles it to act for `left` ticks. *)
AfterOwnWrite(p, m, version, left) ==
  LET me == proc[p]
      rec == m.rec
      hold == HoldAfter(p, version)
      seen == [me EXCEPT !.view = version, !.wait = 0]
      isAcquire == rec.holder = Id(p) /\ rec.term = rec.stamp
  IN IF rec.holder # Id(p)
     THEN [seen EXCEPT !.mode = IF me.tasks THEN me.mode ELSE "follow", !.valid = IF me.tasks THEN @ ELSE 0,
                       !.wait = WaitFor(p, hist[version])]
     ELSE IF me.mode = "follow" /\ isAcquire
     THEN IF left = 0 THEN [seen EXCEPT !.hold = hold]
          ELSE [seen EXCEPT !.mode = IF hold = 0 THEN "lead" ELSE "reserve", !.tasks = (hold = 0),
                            !.valid = left, !.hold = hold]
     ELSE IF me.mode \in {"reserve", "lead", "drain", "empty"} /\ Extends(rec, version)
     THEN [seen EXCEPT !.valid = Max(@, left)]
     ELSE seen

(* Writes of p that took effect, or no longer can, are dropped. Writes that only a restored store can accept no longer belong to p. *)
NotItsOwn == 0 - 1
Settle(p, version) == msg' = [msg EXCEPT ![p] = [s \in Slots |->
  IF @[s] = NoWrite \/ @[s].base >= version THEN @[s]
  ELSE IF MayLand(@[s], hist[version].num) THEN [@[s] EXCEPT !.inc = NotItsOwn, !.left = 0]
  ELSE NoWrite]]

(* The greatest epoch that p knows. The term of a new record began no later than its version. *)
KnownAfter(p, rec) ==
  IF IF rec.holder = Nobody THEN Seen(p).trans = rec.trans \/ "missed term forgotten" \in Wrong
     ELSE Seen(p).holder = rec.holder /\ Seen(p).term = rec.term
  THEN proc[p].known
  ELSE Max(proc[p].known, EpochOf(rec))

IsBy(p, rec) == rec.src # <<>> /\ rec.src[1] = p

Landed(p, version) == {s \in Slots :
  LET m == msg[p][s]
  IN /\ m # NoWrite /\ m.inc = proc[p].inc
     /\ IsBy(p, m.rec) /\ WrittenAs(hist[version], m.rec) /\ hist[version].holder = m.rec.holder}

(* The state of p after it sees its own write s in this version, possibly with an annotation edited since. *)
AfterLanded(p, s, version, left) ==
  [AfterOwnWrite(p, msg[p][s], msg[p][s].rec.stamp, left) EXCEPT !.view = version]

(* The answer to a write. It is one more observation of the lease, except for wrong variants that count from it. *)
Hear(p, s) ==
  LET version == msg[p][s].base + 1
  IN /\ "validity from the response" \in Wrong
     /\ msg[p][s] # NoWrite /\ version <= Version /\ s \in Landed(p, version)
     /\ Settle(p, version)
     /\ Become(p, AfterLanded(p, s, version, Validity))

(* The answer to a write, the watch, or a read shows any later version and may skip versions. A process that sees a term only after
   an edit obeys the edit. The rules cannot prevent that. *)
See(p, version) ==
  LET me == proc[p]
      rec == hist[version]
      holds == me.mode \in {"reserve", "lead", "drain", "empty"}
      (* Every fence that knows a greater epoch refuses a term with this one. *)
      isUseless == rec.least > Seen(p).epoch /\ me.mode \in {"reserve", "lead"}
      isSameTerm == rec.here /\ rec.holder = Id(p) /\ rec.term = Seen(p).term /\ ~isUseless
  IN /\ version \in (me.view + 1)..Version
     /\ "restored store taken for a late watch" \in Wrong => ~IsBack(p, rec)
     /\ "shortened" \in Features => version = me.view + 1 \/ rec.term = Seen(p).term
     /\ Settle(p, version)
     /\ Become(p, [
          IF Landed(p, version) # {}
          THEN LET s == CHOOSE s \in Landed(p, version) : TRUE
               IN AfterLanded(p, s, version,
                    IF "validity from reading back" \in Wrong THEN Validity ELSE msg[p][s].left)
          ELSE IF holds /\ isSameTerm THEN [me EXCEPT !.view = version, !.valid = Cut(p, rec)]
          ELSE IF holds THEN Lost(p, version, IF IsNamed(rec) THEN WaitAt(p, version) ELSE WaitOn(rec))
          ELSE [me EXCEPT !.view = version, !.wait = WaitAt(p, version)]
          EXCEPT !.known = KnownAfter(p, rec), !.stuck = StuckAfter(rec)])

(* Only a wrong variant records when it sent a poll. *)
Poll(p) ==
  /\ "expiry from the send of a poll" \in Wrong
  /\ proc[p].poll < LeaseTicks
  /\ proc' = [proc EXCEPT ![p].poll = LeaseTicks]
  /\ UNCHANGED <<hist, msg, time, slow, last, ordered>>

(***************************************************************************)
(* Acquiring                                                               *)
(***************************************************************************)
(* At any later time, the API server reports that the container in the record terminated after the process of the holder started. *)
IsProvedDead(rec) ==
  LET inc == proc[rec.holder[1]].inc
  IN /\ "death" \in Features
     /\ \/ rec.ref < inc /\ (rec.ref >= rec.holder[2] \/ "death of the predecessor" \in Wrong)
        \/ "death of a reused identity" \in Wrong /\ inc > 0
        \/ "death by a missing Pod" \in Wrong /\ proc[rec.holder[1]].podGone

(* client-go sees no change if a holder acquires its own lease again within one second. *)
IsToldApart(rec) == Peers = {} \/ rec.sec # Second \/ "own lease taken again in one second" \in Wrong

(* A restored store may show a free lease although a leader that it has lost still acts. So may a lease that nobody wrote for long and that
   another replica freed. *)
IsGuarded(p) == Features \cap {"restore", "stuck"} # {} /\ proc[p].wait > 0

(* The least epoch of the next term: above every epoch that p knows. 0 if the version of the store will be above that anyway. *)
LeastAfter(p, base) ==
  LET highest == Max(proc[p].known, EpochOf(base))
  IN IF highest <= base.num \/ "epoch from the store alone" \in Wrong THEN 0 ELSE highest + 1

IsFree(p, rec) ==
  IF ~rec.here THEN "deleted lease waited for" \in Wrong => proc[p].wait = 0
  ELSE \/ rec.holder = Nobody /\ ~IsGuarded(p)
       \/ rec.holder = Id(p) /\ (p \in Peers \/ IsToldApart(rec)) /\ (IsNamed(rec) \/ ~IsGuarded(p))
       \/ rec.holder # Id(p) /\ proc[p].wait = 0
       \/ p \in Replicas /\ rec.holder # Nobody /\ IsProvedDead(rec)

(* A replica acts on a transfer as soon as it sees it, or not at all. If it acquires the lease instead, the nonce proves nothing any more. *)
AfterAcquire(p) ==
  IF /\ "transfer" \in Features /\ "transfer acted on after an acquisition" \notin Wrong
     /\ Seen(p).here /\ Seen(p).holder = Id(p) /\ Seen(p).echo # 0
  THEN [proc EXCEPT ![p].nonceUsed = TRUE]
  ELSE proc

(* While a leader of before may act, a replica that holds the lease does not name its process: its own death would prove nothing about that
   leader. *)
RefOf(p, waits) == IF waits /\ "process named while it waits" \notin Wrong THEN NoRef ELSE proc[p].names

MayWait(p, old) == ~old.here \/ proc[p].hold > 0 \/ (IsNamed(old) /\ proc[p].wait > 0)

Acquire(p) ==
  LET base == IF "written on a fresher version" \in Wrong THEN Version ELSE proc[p].view
      old == hist[base]
      transitions == IF ~old.here THEN 0 ELSE IF old.holder = Id(p) /\ ~IsNamed(old) THEN old.trans ELSE old.trans + 1
      kept == IF "answers kept" \in Wrong THEN old.answer ELSE NoAnswer
      least == LeastAfter(p, old)
  IN /\ proc[p].mode = "follow"
     /\ MaySend(p)
     /\ IsFree(p, Seen(p))
     /\ Send(p, base,
          [here |-> TRUE, holder |-> Id(p), term |-> base + 1, stamp |-> base + 1, src |-> Source(p),
           trans |-> transitions, dur |-> LeaseTicks, sec |-> Second, offer |-> FALSE, answer |-> kept, echo |-> 0,
           num |-> 0, epoch |-> Max(old.num + 1, least), least |-> least, ref |-> RefOf(p, MayWait(p, old)),
           list |-> old.list \ {Id(p)}],
          Validity)
     /\ proc' = AfterAcquire(p)
     /\ UNCHANGED <<hist, time, slow, last, ordered>>

(* p has held the lease long enough that a leader that has not seen the deletion no longer acts. *)
Act(p) ==
  /\ proc[p].mode = "reserve" /\ proc[p].hold = 0 /\ proc[p].valid > 0
  /\ Become(p, [proc[p] EXCEPT !.mode = "lead", !.tasks = TRUE])
  /\ UNCHANGED msg

(***************************************************************************)
(* Leading                                                                 *)
(***************************************************************************)
(* A renewal at the same time as the last one would change nothing. The renewal of an offered lease may drop an old answer. *)
Renew(p) ==
  LET base == proc[p].view
  IN /\ proc[p].mode \in {"reserve", "lead", "drain"}
     /\ proc[p].valid \in 1..(Validity - 1)
     /\ MaySend(p)
     /\ \E answer \in {Seen(p).answer} \cup IF Seen(p).offer THEN {NoAnswer} ELSE {}:
          Send(p, base,
            [Seen(p) EXCEPT !.stamp = base + 1, !.src = Source(p), !.dur = LeaseTicks, !.sec = Second, !.echo = 0,
                            !.answer = answer, !.ref = RefOf(p, proc[p].hold > 0)],
            Validity)
     /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

(* An involuntary end for any reason: the deadline, a stall, a failed controller. *)
Abort(p) ==
  /\ proc[p].mode \in {"reserve", "lead", "drain"}
  /\ Become(p, Lost(p, proc[p].view, 0))
  /\ UNCHANGED msg

(***************************************************************************)
(* Ending voluntarily                                                      *)
(***************************************************************************)
StepDown(p) ==
  /\ proc[p].mode = "lead"
  /\ Become(p, [proc[p] EXCEPT !.mode = "drain"])
  /\ UNCHANGED msg

(* The last task has settled. *)
Drained(p) ==
  /\ proc[p].tasks
  /\ proc[p].mode \in {"drain", "ending"}
  /\ Become(p, [proc[p] EXCEPT !.tasks = FALSE, !.mode = IF @ = "drain" THEN "empty" ELSE "follow",
                               !.valid = IF proc[p].mode = "drain" THEN @ ELSE 0])
  /\ UNCHANGED msg

MayFree(p) == \/ proc[p].mode = "empty"
              \/ "release before the drain" \in Wrong /\ proc[p].mode = "drain"

Release(p) ==
  LET base == proc[p].view
  IN /\ MayFree(p) /\ MaySend(p)
     /\ Send(p, base,
          [Seen(p) EXCEPT !.holder = Nobody, !.stamp = base + 1, !.src = Source(p), !.sec = Second,
                          !.offer = FALSE, !.answer = NoAnswer, !.echo = 0],
          0)
     /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

(* The outcome of the release is unknown. The lease expires, and the term remains ended. *)
Leave(p) ==
  /\ proc[p].mode = "empty"
  /\ Become(p, [proc[p] EXCEPT !.mode = "follow", !.valid = 0])
  /\ UNCHANGED msg

Restart(p) ==
  /\ "tasks started again" \in Wrong
  /\ proc[p].mode = "empty" /\ FreeSlots(p) # Slots
  /\ Become(p, [proc[p] EXCEPT !.mode = "lead", !.tasks = TRUE])
  /\ UNCHANGED msg

(***************************************************************************)
(* Answered transfer                                                       *)
(***************************************************************************)
HasTransfer == "transfer" \in Features

Offer(p) ==
  LET base == proc[p].view
  IN /\ HasTransfer
     /\ proc[p].mode = "drain" /\ ~Seen(p).offer /\ MaySend(p)
     /\ Send(p, base,
          [Seen(p) EXCEPT !.stamp = base + 1, !.src = Source(p), !.dur = LeaseTicks, !.sec = Second,
                          !.offer = TRUE, !.echo = 0],
          Validity)
     /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

(* A follower answers with a new nonce and records when it sent it. *)
Answer(p) ==
  LET base == proc[p].view
      nonce == proc[p].nonce + 1
  IN /\ HasTransfer
     /\ proc[p].mode = "follow" /\ nonce <= MaxAnswers
     /\ Seen(p).offer /\ Seen(p).holder # Id(p)
     /\ IF Seen(p).answer = NoAnswer THEN TRUE ELSE Seen(p).answer[1] = Id(p)
     /\ MaySend(p)
     /\ Send(p, base, [Seen(p) EXCEPT !.answer = <<Id(p), nonce, Seen(p).term>>], 0)
     /\ proc' = [proc EXCEPT ![p].nonce = nonce, ![p].nonceLeft = TransferValidity, ![p].nonceUsed = FALSE]
     /\ UNCHANGED <<hist, time, slow, last, ordered>>

(* A release that names the successor. An answer to the offer of another term is void. *)
Transfer(p) ==
  LET base == proc[p].view
      answer == Seen(p).answer
  IN /\ HasTransfer
     /\ MayFree(p) /\ MaySend(p)
     /\ answer # NoAnswer /\ answer[1] # Id(p)
     /\ answer[3] = Seen(p).term \/ "answers kept" \in Wrong
     /\ Send(p, base,
          [Seen(p) EXCEPT !.holder = answer[1], !.term = base + 1, !.epoch = Seen(p).num + 1, !.stamp = base + 1, !.src = Source(p),
                          !.trans = @ + 1, !.dur = TransferTicks, !.sec = Second,
                          !.offer = FALSE, !.answer = NoAnswer, !.echo = answer[2]],
          0)
     /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

(* The successor sees its own nonce. It handles any other transfer like a lease that has its name: with Acquire. *)
ActOnTransfer(p) ==
  LET me == proc[p]
      isCurrent == Seen(p).echo = me.nonce
      isFresh == ~me.nonceUsed
      fromEvent == Wrong \cap {"transfer without a nonce", "transfer counted from the event"} # {}
      granted == IF fromEvent THEN TransferValidity ELSE me.nonceLeft
      (* Its first renewal may take effect without an answer. Others then wait for the duration in that renewal. *)
      valid == IF "transfer counted beyond the first renewal" \in Wrong \/ granted < Validity THEN granted ELSE Validity
  IN /\ HasTransfer
     /\ me.mode = "follow"
     /\ Seen(p).holder = Id(p) /\ Seen(p).echo # 0
     /\ isCurrent \/ "transfer without a nonce" \in Wrong
     /\ isFresh \/ "transfer with a used nonce" \in Wrong
     /\ valid > 0
     /\ Become(p, [me EXCEPT !.mode = "lead", !.tasks = TRUE, !.valid = valid, !.nonceUsed = TRUE])
     /\ UNCHANGED msg

(***************************************************************************)
(* Proved death                                                            *)
(***************************************************************************)
(* A client force-deletes the Pod object. The process continues to run. *)
ForceDelete(p) ==
  /\ "pods" \in Features /\ ~proc[p].podGone
  /\ proc' = [proc EXCEPT ![p].podGone = TRUE]
  /\ UNCHANGED <<hist, msg, time, slow, last, ordered>>

(* The process learns the start of its own container, from the status of its Pod or from the kernel. *)
Name(p) ==
  /\ proc[p].names # proc[p].inc
  /\ proc' = [proc EXCEPT ![p].names = proc[p].inc]
  /\ UNCHANGED <<hist, msg, time, slow, last, ordered>>

(***************************************************************************)
(* Restored store                                                          *)
(***************************************************************************)
(* A follower writes an epoch that the restored lease has lost. *)
Remind(p) ==
  LET base == proc[p].view
  IN /\ "restore" \in Features /\ "epoch from the store alone" \notin Wrong
     /\ proc[p].mode = "follow" /\ Seen(p).here /\ proc[p].known > EpochOf(Seen(p)) /\ MaySend(p)
     /\ Send(p, base, [Seen(p) EXCEPT !.least = proc[p].known], 0)
     /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

(***************************************************************************)
(* A lease that nobody writes, although its holder was named and lives. A  *)
(* replica clears the holder and keeps the times, so that replicas that    *)
(* protect a holder of before go on doing so. Others see a free lease.     *)
(***************************************************************************)
Free(p) ==
  LET base == proc[p].view
      freed == [Seen(p) EXCEPT !.holder = Nobody, !.dur = 1]
  IN /\ "stuck" \in Features
     /\ Seen(p).here /\ Seen(p).holder \notin {Nobody, Id(p)} /\ proc[p].stuck = 0 /\ MaySend(p)
     /\ Send(p, base,
          IF "stuck lease freed with new times" \in Wrong
          THEN [freed EXCEPT !.stamp = base + 1, !.src = Source(p), !.sec = Second] ELSE freed, 0)
     /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

(***************************************************************************)
(* Standbys. A follower joins the list under another holder, and leaves it *)
(* when it stops. The write changes the annotation and nothing else.       *)
(***************************************************************************)
Announce(p, list) ==
  LET base == proc[p].view
      note == [Seen(p) EXCEPT !.list = list]
  IN /\ "standbys" \in Features
     /\ proc[p].mode = "follow" /\ Seen(p).holder \notin {Nobody, Id(p)} /\ ~Seen(p).offer /\ MaySend(p)
     /\ list # Seen(p).list
     /\ Send(p, base,
          IF "announcement with a renew time" \in Wrong THEN [note EXCEPT !.stamp = base + 1, !.src = Source(p)] ELSE note, 0)
     /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

Join(p) == Announce(p, Seen(p).list \cup {Id(p)})
Unlist(p) == Announce(p, Seen(p).list \ {Id(p)})

(***************************************************************************)
(* Steps                                                                   *)
(***************************************************************************)
Next ==
  \/ Tick \/ Delete \/ Edit \/ Shorten \/ Restore \/ Elect
  \/ \E p \in Processes :
       \/ Acquire(p) \/ Renew(p) \/ Abort(p) \/ StepDown(p) \/ Drained(p) \/ Release(p) \/ Leave(p) \/ Crash(p)
       \/ \E s \in Slots : TakeEffect(p, s) \/ Lose(p, s) \/ Hear(p, s)
       \/ \E version \in 2..MaxVersion : See(p, version)
  \/ \E p \in Replicas :
       \/ Act(p) \/ Restart(p) \/ Poll(p) \/ ForceDelete(p) \/ Name(p) \/ Remind(p)
       \/ Offer(p) \/ Answer(p) \/ Transfer(p) \/ ActOnTransfer(p)
       \/ Join(p) \/ Unlist(p) \/ Free(p)

Spec == Init /\ [][Next]_vars

Symmetry == Permutations(Replicas) \cup Permutations(Peers)

(***************************************************************************)
(* Invariants                                                              *)
(***************************************************************************)
(* A task compares the clock with validUntil before each act. The model does not check peers beyond their lease. *)
Acts(p) == proc[p].tasks /\ IF p \in Peers THEN Stored.holder = Id(p) ELSE proc[p].valid > 0

(* The backup does not contain the term of p, and q never saw it. Then p may act beside q, but only as long as writes from before the
   restore entitle it to act. *)
IsForgotten(p, q) ==
  /\ proc[p].old /\ ~proc[q].old /\ ~proc[q].knew
  /\ proc[p].valid <= proc[p].grace
  /\ "terms that the backup forgot counted" \notin Wrong

(* No two terms act at the same time. *)
S1 == \/ last.stale /\ "stale writes counted" \notin Wrong
      \/ \A p, q \in Processes : p # q /\ Acts(p) /\ Acts(q) => IsForgotten(p, q) \/ IsForgotten(q, p)

(* No proof of death names a running process. *)
D1 == \A v \in Floor..Version :
  hist[v].holder # Nobody /\ IsProvedDead(hist[v]) => hist[v].holder[2] < proc[hist[v].holder[1]].inc

(* An announcement changes nothing but the list: not the holder, the times, the duration, nor the epoch. *)
A1 == \A v \in (Floor + 1)..Version :
  hist[v].list # hist[v - 1].list /\ hist[v].term = hist[v - 1].term =>
    hist[v] = [hist[v - 1] EXCEPT !.list = hist[v].list, !.num = hist[v].num]

(* While tasks run, no release or transfer of their replica can take effect. *)
IsFreeing(m, p) == IsBy(p, m.rec) /\ m.rec.holder # <<p, m.inc>>
S3 == \A p \in Replicas : proc[p].tasks =>
  \A s \in Slots : LET m == msg[p][s]
    IN m # NoWrite /\ m.inc = proc[p].inc /\ IsFreeing(m, p) => m.base # Version /\ ~IsBlind(m)

(* Every release and transfer replaced a record of its own writer. A release replaced a record of the same term. A coordinator names
   holders at any time. *)
S4 == \A v \in 2..Version : LET rec == hist[v]  writer == SubSeq(hist[v].src, 1, 2)
  IN rec.here /\ rec.stamp = v /\ ~IsNamed(rec) /\ rec.holder # writer =>
       /\ hist[v - 1].holder = writer
       /\ rec.holder = Nobody => hist[v - 1].term = rec.term

(* A follower has no tasks. A term begins only from there. *)
S5 == \A p \in Processes : proc[p].mode \in {"follow", "reserve", "empty"} => ~proc[p].tasks

(* Epochs strictly grow. *)
S6 == ordered
=============================================================================
