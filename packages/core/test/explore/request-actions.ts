import type { LeaseWrite } from '../../src/election/machine/effect.ts'
import type { WriteResult } from '../../src/election/machine/event.ts'
import { isTermOf, termOf } from '../../src/election/rules/term-key.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type { LockSnapshot, PresentLease } from '../../src/lock/lock.ts'
import { failed } from '../election/pure-elector.ts'
import type { Action } from './action.ts'
import { asRead, handle, type Laboratory, replicaAt, store, withReplica } from './handle.ts'
import { withMixNoted } from './restoring.ts'
import { BrokenRule, type Request, type World } from './world.ts'

/** The possible next events of a request. */
export function requestActions(world: World, request: Request, lab: Laboratory): readonly Action[] {
  const { from, isGhost, isDone } = request
  const { isPaused, isCutOff } = replicaAt(world, from)
  const named = (what: string, apply: () => World): Action => ({ name: `${describeRequest(request)} ${what}`, apply })
  if (isGhost) return [named('takes effect late', () => perform(world, request, lab).world)]
  if (isPaused)
    return isDone ? [] : [named('takes effect, its answer waits', () => performUnheard(world, request, lab))]
  if (isDone || request.sentTick < world.tick) {
    const rest = isDone || isRead(request) ? without(world, request) : asGhost(world, request)
    return [named('times out', () => timeOut(rest, request, lab))]
  }
  if (isCutOff) return [named('is lost', () => timeOut(without(world, request), request, lab))]
  const answered = named('takes effect and is answered', () => performAnswered(world, request, lab))
  return world.faultsLeft === 0 ? [answered] : [answered, ...requestFaults(world, request, lab)]
}

/** Whether a request changes nothing: it reads the lease, or checks a lease that is held for life. */
function isRead({ write }: Request): boolean {
  return write === undefined || write.record === write.base?.record
}

/** The faults of a request that can take effect now. */
function requestFaults(world: World, request: Request, lab: Laboratory): readonly Action[] {
  const faulty = { ...world, faultsLeft: world.faultsLeft - 1 }
  const named = (what: string, apply: () => World): Action => ({ name: `${describeRequest(request)} ${what}`, apply })
  const faults = [
    named('is lost', () => timeOut(without(faulty, request), request, lab)),
    named('is refused', () => answerWith(without(faulty, request), request, failed('forbidden'), lab)),
  ]
  if (isRead(request)) return faults
  return [
    ...faults,
    named('takes effect, its answer is lost', () => answerLost(faulty, request, lab)),
    named('times out and stays in flight', () => timeOut(asGhost(faulty, request), request, lab)),
    named('arrives twice', () => {
      const copy = { ...request, isGhost: true }
      return performAnswered({ ...faulty, requests: [...faulty.requests, copy] }, request, lab)
    }),
  ]
}

function describeRequest({ identity, write }: Request): string {
  return `${write?.purpose ?? 'read'} of ${identity}`
}

/** Takes effect and is answered at once. */
function performAnswered(world: World, request: Request, lab: Laboratory): World {
  const { world: done, answer } = perform(world, request, lab)
  return answer(done)
}

/** Takes effect while its sender cannot receive the answer. */
function performUnheard(world: World, request: Request, lab: Laboratory): World {
  const { world: done } = perform(world, request, lab)
  return { ...done, requests: [...done.requests, { ...request, isDone: true }] }
}

/** Takes effect, but the answer never comes, and the request times out. */
function answerLost(world: World, request: Request, lab: Laboratory): World {
  return timeOut(perform(world, request, lab).world, request, lab)
}

function timeOut(world: World, request: Request, lab: Laboratory): World {
  return answerWith(world, request, failed('unknown-outcome'), lab)
}

/** Takes effect on the stored lease. */
function perform(
  world: World,
  request: Request,
  lab: Laboratory,
): { readonly world: World; readonly answer: (world: World) => World } {
  const next = without(world, request)
  const { write } = request
  if (write === undefined) {
    const snapshot = asRead(next.lease)
    return {
      world: next,
      answer: (done) =>
        handle(
          done,
          request.from,
          { kind: 'read-answer', request: request.request, result: { kind: 'read', snapshot } },
          lab,
        ),
    }
  }
  if (isRead(request)) {
    const result = checked(next.lease, write.record)
    return { world: next, answer: (done) => answerWith(done, request, result, lab) }
  }
  const refusal = refusalOf(next, write.base?.version)
  if (refusal !== undefined) return { world: next, answer: (done) => answerWith(done, request, failed(refusal), lab) }
  const noted = withMixNoted(next, request)
  assertOwnRelease(noted, request)
  const { era } = next.restores
  const lease = {
    kind: 'present',
    version: next.version + 1n,
    record: write.record,
    deleting: false,
    native: era,
  } as const
  return {
    world: store(withGrant(noted, write), lease, lab),
    answer: (done) => answerWith(done, request, { kind: 'written', lease: withReplaced(lease, next.lease) }, lab),
  }
}

/** The answer to the check of a lease that is held for life. */
function checked(stored: LockSnapshot, record: LeaseRecord): WriteResult {
  if (stored.kind === 'absent') return failed('not-found')
  return isTermOf(stored.record, termOf(record)) ? { kind: 'written', lease: stored } : failed('conflict')
}

/** The answer to a creation, which says what was deleted before, if the store tells. */
function withReplaced(lease: PresentLease, before: LockSnapshot): PresentLease {
  return before.kind === 'absent' && before.deleted !== undefined ? { ...lease, replaced: before.deleted } : lease
}

/** The write makes a replica the holder: its sender, or the successor of a transfer. */
function withGrant(world: World, { purpose, record }: LeaseWrite): World {
  const index = world.replicas.findIndex(({ identity }) => identity === record.holderIdentity)
  if (index < 0 || (purpose !== 'acquire' && purpose !== 'transfer')) return world
  return withReplica(world, index, { granted: record.acquireTime })
}

function refusalOf(world: World, base: bigint | undefined): 'conflict' | 'not-found' | undefined {
  if (base === undefined) return world.lease.kind === 'present' ? 'conflict' : undefined
  if (world.lease.kind === 'absent') return 'not-found'
  return world.lease.version === base ? undefined : 'conflict'
}

/** S4. */
function assertOwnRelease(world: World, { identity, write }: Request): void {
  if ((write?.purpose !== 'release' && write?.purpose !== 'transfer') || world.lease.kind !== 'present') return
  if (world.restores.isMixed) return
  const { holderIdentity } = world.lease.record
  if (holderIdentity !== identity) throw new BrokenRule('S4', `${identity} releases the lease of ${holderIdentity}`)
}

function answerWith(world: World, request: Request, result: WriteResult, lab: Laboratory): World {
  const { from, identity, request: number, write } = request
  if (replicaAt(world, from).identity !== identity) return world
  if (write !== undefined) return handle(world, from, { kind: 'write-answer', request: number, result }, lab)
  if (result.kind === 'written') return world
  return handle(world, from, { kind: 'read-answer', request: number, result }, lab)
}

function without(world: World, request: Request): World {
  return { ...world, requests: world.requests.filter((one) => one !== request) }
}

function asGhost(world: World, request: Request): World {
  return {
    ...world,
    requests: world.requests.map((one) => (one === request ? { ...one, isGhost: true } : one)),
  }
}
