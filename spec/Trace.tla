------------------------------- MODULE Trace -------------------------------
(***************************************************************************)
(* Decides whether traces of real electors are behaviours of the model. A  *)
(* generated module holds, for each trace, its records and its steps. Each *)
(* step of a trace must be possible as a step of the model. Steps that the *)
(* model does not have change nothing here.                                *)
(*                                                                         *)
(* One elector is one process, which never restarts: a restarted process   *)
(* has another elector. Its first sighting of the lease starts it.         *)
(***************************************************************************)
EXTENDS Tenure, TraceData

VARIABLES
  trace, \* the number of the trace
  at,    \* its next step
  log    \* what the trace has said so far

(***************************************************************************)
(* `raws`: the record of each version, as a number of a record of the      *)
(* trace. `sent`: the request and the record of the write in each slot.    *)
(* `open`: the requests without an answer, with what they are based on.    *)
(* `told`: the holders of whose death an elector knows. `begun`: whether   *)
(* it has seen the lease. `term`: whether its term has begun. `landed`:    *)
(* the version in which it saw that its acquisition has happened.          *)
(* `nonces`: how long a transfer to each of its answers entitles it.       *)
(***************************************************************************)
NoLog ==
  [raws |-> <<0>>,
   sent |-> [p \in Processes |-> [s \in Slots |-> <<0, 0>>]],
   open |-> [p \in Processes |-> {}],
   told |-> [p \in Processes |-> {}],
   nonces |-> [p \in Processes |-> <<>>],
   begun |-> [p \in Processes |-> FALSE],
   term |-> [p \in Processes |-> FALSE],
   landed |-> [p \in Processes |-> 0]]

InitTrace ==
  /\ trace \in 1..Len(Traces)
  /\ at = 1
  /\ log = NoLog
  /\ StartsWith(Absent)
  /\ proc = [p \in Processes |-> Fresh(0, 1, Absent)]
  /\ last = NoTerm

Steps == Traces[trace].steps

(* Where nobody has seen a lease yet, a replica waits before it acts, unless its option says otherwise. *)
HoldOfTrace(p, version) == IF hist[version - 1].here \/ ~Traces[trace].waits THEN proc[p].hold ELSE LeaseTicks

(* The margin is a share of the duration of a record, which another client may have edited. *)
GrantedOfTrace(dur) == dur - (MarginTicks * dur) \div LeaseTicks
TransferValidityOfTrace == GrantedOfTrace(TransferTicks)

(***************************************************************************)
(* Records. The times of a record are numbers, equal for equal times. They *)
(* must change in the trace exactly where they change in the model.        *)
(***************************************************************************)
Missing == [holder |-> 0, dur |-> 0, acq |-> 0, ren |-> 0, trans |-> 0, offer |-> FALSE, answer |-> <<0, 0>>, echo |-> 0]
Raw(number) == IF number = 0 THEN Missing ELSE Traces[trace].records[number]

Mirrors(rec, old, raw, rawOld) ==
  /\ raw.holder = IF rec.holder = Nobody THEN 0 ELSE rec.holder[1]
  /\ raw.trans = rec.trans
  /\ (raw.ren = rawOld.ren) = (rec.stamp = old.stamp)
  /\ raw.offer = rec.offer
  /\ raw.answer = IF rec.answer = NoAnswer THEN <<0, 0>> ELSE <<rec.answer[1][1], rec.answer[2]>>
  /\ raw.echo = rec.echo
  /\ rec.holder # Nobody =>
       /\ raw.dur = rec.dur
       /\ (raw.acq = rawOld.acq) = (rec.term = old.term)
       /\ rec.term = rec.stamp => raw.acq = raw.ren

(***************************************************************************)
(* Steps. Every clock advances by its own ticks since the last step.       *)
(***************************************************************************)
Left(ticks, passed) == IF ticks > passed THEN ticks - passed ELSE 0

Pass(passed) ==
  /\ proc' = [p \in Processes |->
       IF p > Len(passed) THEN proc[p]
       ELSE [proc[p] EXCEPT !.wait = Left(@, passed[p]), !.valid = Left(@, passed[p]), !.hold = Left(@, passed[p]),
                            !.nonceLeft = Left(@, passed[p])]]
  /\ msg' = [p \in Processes |-> [s \in Slots |->
       IF p > Len(passed) \/ msg[p][s] = NoWrite THEN msg[p][s] ELSE [msg[p][s] EXCEPT !.left = Left(@, passed[p])]]]
  /\ log' = [log EXCEPT !.nonces = [p \in Processes |->
       IF p > Len(passed) THEN @[p] ELSE [n \in 1..Len(@[p]) |-> Left(@[p][n], passed[p])]]]
  /\ UNCHANGED <<hist, time, slow, last, ordered>>

Stutter == UNCHANGED vars

Sees(p, version, raw) ==
  /\ version \in 1..Version /\ log.raws[version] = raw
  /\ IF ~log.begun[p]
     THEN /\ proc' = [proc EXCEPT ![p] = Fresh(0, version, hist[version])]
          /\ UNCHANGED <<hist, msg, time, slow, last, ordered>>
     ELSE IF version > proc[p].view THEN See(p, version) ELSE Stutter
  /\ log' = [log EXCEPT !.begun[p] = TRUE,
                       !.landed[p] = IF proc[p].mode = "follow" /\ proc'[p].mode # "follow" THEN version ELSE @]

(* The model lets any replica know of a death. Here only those know that have the proof. *)
MayTake(p) == LET rec == Seen(p) IN
  rec.here /\ rec.holder \notin {Nobody, Id(p)} /\ proc[p].wait > 0 => rec.holder \in log.told[p]

(* Steps of the code that the model does not have. A leader also offers its lease before it drains, and withdraws the offer, when it
   chooses a better leader or takes its turn in a rollout. It renews the lease after the drain, while it waits for answers. *)
Rewrite(p) ==
  LET base == proc[p].view
  IN /\ proc[p].mode \in {"lead", "drain", "empty"} /\ proc[p].valid > 0 /\ MaySend(p)
     /\ \E offer \in BOOLEAN, answer \in {Seen(p).answer, NoAnswer} :
          Send(p, base,
            [Seen(p) EXCEPT !.stamp = base + 1, !.src = Source(p), !.dur = LeaseTicks, !.offer = offer, !.answer = answer, !.echo = 0],
            Validity)
     /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

(* A follower that stops leaves the list also while the lease is offered. *)
LeaveList(p) ==
  /\ proc[p].mode = "follow" /\ Seen(p).holder \notin {Nobody, Id(p)} /\ MaySend(p)
  /\ Send(p, proc[p].view, [Seen(p) EXCEPT !.list = @ \ {Id(p)}], 0)
  /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

(* A follower that can no longer take the lease withdraws its answer. *)
WithdrawAnswer(p) ==
  /\ proc[p].mode = "follow" /\ Seen(p).answer # NoAnswer /\ Seen(p).answer[1] = Id(p) /\ MaySend(p)
  /\ Send(p, proc[p].view, [Seen(p) EXCEPT !.answer = NoAnswer], 0)
  /\ UNCHANGED <<hist, proc, time, slow, last, ordered>>

Writes(p, purpose, raw) ==
  CASE purpose = "acquire" -> MayTake(p) /\ Acquire(p)
    [] purpose = "renew" ->
         IF Raw(raw).offer = Seen(p).offer /\ proc[p].mode # "empty" THEN Renew(p)
         ELSE IF Raw(raw).offer /\ proc[p].mode = "drain" THEN Offer(p)
         ELSE Rewrite(p)
    [] purpose = "release" -> Release(p)
    [] purpose = "transfer" -> Transfer(p)
    [] purpose = "answer" -> IF Raw(raw).answer = <<0, 0>> THEN WithdrawAnswer(p) ELSE Answer(p)
    [] purpose = "announce" ->
         IF Seen(p).offer THEN LeaveList(p) ELSE IF Id(p) \in Seen(p).list THEN Unlist(p) ELSE Join(p)
    [] OTHER -> FALSE

Sends(p, purpose, request, base, raw) ==
  /\ base = proc[p].view
  /\ Writes(p, purpose, raw)
  /\ LET slot == NextSlot(p)
     IN /\ Mirrors(msg'[p][slot].rec, hist[base], Raw(raw), Raw(log.raws[base]))
        /\ log' = [log EXCEPT !.sent[p][slot] = <<request, raw>>, !.open[p] = @ \cup {<<request, base>>},
                             !.nonces[p] = IF proc'[p].nonce > proc[p].nonce THEN Append(@, TransferValidity) ELSE @]

SlotsOf(p, request) == {s \in Slots : msg[p][s] # NoWrite /\ log.sent[p][s][1] = request}

TakesEffect(p, request, raw) ==
  \E s \in SlotsOf(p, request) :
    /\ log.sent[p][s][2] = raw
    /\ TakeEffect(p, s)
    /\ log' = [log EXCEPT !.raws = Append(@, raw)]

(* Another client edits the duration, or an annotation that electors ignore. *)
IsEditedElsewhere(raw) ==
  /\ Stored.here
  /\ Raw(raw) = [Raw(log.raws[Version]) EXCEPT !.dur = Raw(raw).dur]
  /\ Store([Stored EXCEPT !.dur = IF Stored.holder = Nobody THEN @ ELSE Raw(raw).dur], msg)
  /\ UNCHANGED <<proc, time, slow, last, ordered>>
  /\ log' = [log EXCEPT !.raws = Append(@, raw)]

IsAnswered(p, request) == log' = [log EXCEPT !.open[p] = {o \in @ : o[1] # request}]

(* A write that failed for certain has not taken effect, and never will. *)
Fails(p, request) ==
  /\ \E o \in log.open[p] : o[1] = request
  /\ \A s \in SlotsOf(p, request) : ~msg[p][s].done
  /\ IF \E s \in SlotsOf(p, request) : MayLand(msg[p][s], Stored.num)
     THEN \E s \in SlotsOf(p, request) : Lose(p, s)
     ELSE Stutter
  /\ IsAnswered(p, request)

Succeeds(p, request, version, raw) ==
  /\ \E o \in log.open[p] : o[1] = request /\ version > o[2]
  /\ version <= Version /\ log.raws[version] = raw
  /\ Stutter /\ IsAnswered(p, request)

(* The answer to a read, or to a write of unknown outcome. *)
Returns(p, request) ==
  /\ \E o \in log.open[p] : o[1] = request
  /\ Stutter /\ IsAnswered(p, request)

Reads(p, request) == Stutter /\ log' = [log EXCEPT !.open[p] = @ \cup {<<request, 0>>}]

(* The times in the trace are rounded to a tick. *)
IsCovered(p, ticks) == ticks <= proc'[p].valid + 1

(* A transfer to an answer of this replica entitles it to act. The model remembers only the last answer, the code the earlier ones as well. *)
IsEntitled(p) ==
  LET echo == Seen(p).echo
  IN /\ proc[p].mode = "follow" /\ Seen(p).holder = Id(p)
     /\ echo \in 1..Len(log.nonces[p]) /\ log.nonces[p][echo] > 0

ActOnEarlierAnswer(p) ==
  LET echo == Seen(p).echo
  IN /\ IsEntitled(p)
     /\ Become(p, [proc[p] EXCEPT !.mode = "lead", !.tasks = TRUE, !.nonceUsed = TRUE,
                                  !.valid = IF log.nonces[p][echo] < Validity THEN log.nonces[p][echo] ELSE Validity])
     /\ UNCHANGED msg

Begins(p, version, ticks) ==
  /\ ~log.term[p]
  /\ CASE proc[p].mode = "reserve" -> Act(p)
       [] proc[p].mode = "lead" -> Stutter
       [] Seen(p).echo = proc[p].nonce -> ActOnTransfer(p)
       [] OTHER -> ActOnEarlierAnswer(p)
  /\ version = IF proc[p].mode = "follow" THEN proc[p].view ELSE log.landed[p]
  /\ IsCovered(p, ticks)
  /\ log' = [log EXCEPT !.term[p] = TRUE, !.nonces[p] = [n \in 1..Len(@) |-> 0]]

Extended(p, ticks) == Stutter /\ IsCovered(p, ticks) /\ UNCHANGED log

Ends(p, isVoluntary) ==
  /\ log.term[p]
  /\ CASE isVoluntary -> StepDown(p)
       [] proc[p].mode \in {"lead", "drain"} -> Abort(p)
       [] OTHER -> Stutter
  /\ UNCHANGED log

IsDrained(p) ==
  /\ IF proc[p].tasks /\ proc[p].mode \in {"drain", "ending"} THEN Drained(p) ELSE Stutter
  /\ UNCHANGED log

IsOver(p, outcome) ==
  /\ log.term[p]
  /\ outcome = "released" => Seen(p).holder = Nobody
  /\ outcome = "transferred" => Seen(p).holder \notin {Nobody, Id(p)}
  /\ IF proc[p].mode = "empty" THEN Leave(p) ELSE proc[p].mode = "follow" /\ Stutter
  /\ log' = [log EXCEPT !.term[p] = FALSE]

(* An elector learns that the process of the holder has ended. It is none that takes another step. *)
LearnsDeath(p, holder, acq) ==
  /\ IF Seen(p).holder = <<holder, 0>> /\ Raw(log.raws[proc[p].view]).acq = acq
     THEN /\ log' = [log EXCEPT !.told[p] = @ \cup {Seen(p).holder}]
          /\ IF proc[holder].inc = 0 THEN Crash(holder) /\ proc'[holder].names = 1 ELSE Stutter
     ELSE Stutter /\ UNCHANGED log

(* No term begins with an acquisition that other clients cannot see, because it is in the same second as the last renewal. *)
Decline(p) ==
  /\ proc' = [proc EXCEPT ![p].mode = "follow", ![p].tasks = FALSE, ![p].valid = 0]
  /\ UNCHANGED <<hist, msg, time, slow, last, ordered>>

(* The code releases a lease during an acquire delay, or a lease that is transferred to a replica that stops. No term has begun. *)
Empties(p) ==
  LET isDelayed == proc[p].mode = "lead" /\ ~log.term[p]
  IN /\ IF isDelayed \/ IsEntitled(p)
        THEN proc' = [proc EXCEPT ![p].mode = "empty", ![p].tasks = FALSE] /\ UNCHANGED <<hist, msg, time, slow, last, ordered>>
        ELSE Stutter
     /\ log' = [log EXCEPT !.nonces[p] = IF IsEntitled(p) THEN [n \in 1..Len(@) |-> 0] ELSE @]

(* The code gives up a reservation, or a release of unknown outcome, in the step that does something else. *)
GivesUp(p) ==
  /\ CASE proc[p].mode = "reserve" -> Abort(p)
       [] proc[p].mode = "lead" /\ ~log.term[p] -> Decline(p)
       [] proc[p].mode = "empty" /\ ~log.term[p] -> Leave(p)
       [] OTHER -> Stutter
  /\ UNCHANGED log

(* The state of the code. With an acquire delay the code is still reserving when the model leads. *)
Modes(state) ==
  CASE state \in {"following", "acquiring"} -> {"follow"}
    [] state = "reserving" -> {"reserve", "lead"}
    [] state = "leading" -> {"lead"}
    [] state = "draining" -> {"drain", "empty"}
    [] state = "releasing" -> {"empty"}
    [] state = "aborting" -> {"ending"}
    [] OTHER -> {"follow"}

IsIn(p, state) ==
  /\ proc[p].mode \in Modes(state)
  /\ state \in {"leading", "draining"} => log.term[p]
  /\ state = "reserving" => ~log.term[p]
  /\ Stutter /\ UNCHANGED log

(***************************************************************************)
(* A step is a tuple: its kind, its process, and what its kind needs.      *)
(***************************************************************************)
IsAlive(p) == p \in Replicas /\ proc[p].inc = 0

Happens(step) ==
  LET kind == step[1]  p == step[2]
  IN CASE kind = "pass" -> Pass(step[2])
       [] kind = "end of trace" -> Stutter /\ UNCHANGED log
       [] kind = "edit" -> IsEditedElsewhere(step[3])
       [] kind = "effect" -> p \in Replicas /\ TakesEffect(p, step[3], step[4])
       [] OTHER -> IsAlive(p) /\
            CASE kind = "see" -> Sees(p, step[3], step[4])
              [] kind = "send" -> Sends(p, step[3], step[4], step[5], step[6])
              [] kind = "fail" -> Fails(p, step[3])
              [] kind = "succeed" -> Succeeds(p, step[3], step[4], step[5])
              [] kind = "return" -> Returns(p, step[3])
              [] kind = "read" -> Reads(p, step[3])
              [] kind = "begin" -> Begins(p, step[3], step[4])
              [] kind = "until" -> Extended(p, step[3])
              [] kind = "end" -> Ends(p, step[3])
              [] kind = "drained" -> IsDrained(p)
              [] kind = "over" -> IsOver(p, step[3])
              [] kind = "empty" -> Empties(p)
              [] kind = "give up" -> GivesUp(p)
              [] kind = "dead" -> LearnsDeath(p, step[3], step[4])
              [] kind = "state" -> IsIn(p, step[3])
              [] OTHER -> FALSE

Violated ==
  CASE ~S1 -> "S1" [] ~S3 -> "S3" [] ~S4 -> "S4" [] ~S5 -> "S5" [] ~S6 -> "S6" [] ~D1 -> "D1" [] ~A1 -> "A1" [] OTHER -> ""

Follow == Happens(Steps[at])

(* Every trace ends with a verdict: it is refused at a step, it violates an invariant before a step, or it is accepted. *)
NextTrace ==
  /\ at <= Len(Steps)
  /\ UNCHANGED trace
  /\ IF Violated # ""
     THEN PrintT(<<"verdict", trace, at, Violated>>) /\ at' = Len(Steps) + 1 /\ UNCHANGED <<vars, log>>
     ELSE IF ENABLED Follow
     THEN Follow /\ at' = at + 1 /\ (at < Len(Steps) \/ PrintT(<<"verdict", trace, at, "accepted">>))
     ELSE PrintT(<<"verdict", trace, at, "refused">>) /\ at' = Len(Steps) + 1 /\ UNCHANGED <<vars, log>>

SpecTrace == InitTrace /\ [][NextTrace]_<<vars, trace, at, log>>

(* A trace leaves no choice, so the place in it is the state. *)
StateTrace == <<trace, at>>
=============================================================================
