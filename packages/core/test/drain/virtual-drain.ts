import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type { Lock } from '../../src/lock/lock.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { Manager } from '../../src/manager/manager.ts'
import { misbehave, seededRandom } from './adversary.ts'

/** What one step-down came to. */
export interface DrainReport {
  /** How the lease was given up: in order, not at all because a task would not end, or not within the time that was watched. */
  readonly end: 'released' | 'wedged' | 'held'
  /** What was written although a task lived; empty where the rule was kept. */
  readonly violations: readonly string[]
}

const LEASE = 'lease'
const DRAIN_MS = 5000
const GRACE_MS = 2000
const BUDGET_MS = DRAIN_MS + GRACE_MS

/**
 * One replica leads on virtual time with controllers that misbehave, and steps down at some moment; another replica waits.
 *
 * The oracle is in the tasks and in the lock: tasks write down when they begin and when they are over, and at every write that
 * gives the lease to somebody else, or to nobody, none may be alive, unless the process of the tasks was ended before.
 */
export async function drainOnce(seed: number): Promise<DrainReport> {
  const random = seededRandom(seed)
  const clock = new VirtualClock()
  const store = new MemoryLeaseStore()
  const alive = new Set<number>()
  const violations: string[] = []
  let isDead = false
  const onWrite = (writer: string, { holderIdentity }: LeaseRecord) => {
    if (holderIdentity === 'adversary' || alive.size === 0 || isDead) return
    violations.push(`seed ${seed}: ${writer} wrote holder \`${holderIdentity}\` while ${alive.size} tasks lived`)
  }
  const book = {
    began: (task: number) => void alive.add(task),
    ended: (task: number) => void alive.delete(task),
  }
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.setTimer(ms, resolve))
  const createManager = (identity: string) =>
    new Manager({
      identity,
      lease: { name: LEASE, drainTimeoutMs: DRAIN_MS, abortGraceMs: GRACE_MS },
      clock,
      random,
      restart: { maxRestarts: 1000, backoffMs: 50 },
      createLock: () => observed(store.lock(LEASE), (record) => onWrite(identity, record)),
      terminate: () => (isDead = true),
    })
  const adversary = createManager('adversary')
  for (let index = Math.floor(random() * 3); index >= 0; index--) {
    adversary.register(() => ({
      name: `adversary-${index}`,
      run: (term) => misbehave(term, { random, budgetMs: BUDGET_MS, wait, book }),
    }))
  }
  let end: DrainReport['end'] = 'held'
  adversary.start().catch(() => {})
  await clock.runAllMicrotasks()
  const heir = createManager('heir')
  heir.start().catch(() => {})
  await clock.advance(2 * BUDGET_MS * random())
  void adversary.stepDown({ cooldownMs: 3_600_000 }).then(({ kind }) => {
    if (kind === 'stepped-down') end = 'released'
  })
  if (random() < 0.3) void adversary.stepDown({ cooldownMs: 3_600_000 })
  await clock.advance(BUDGET_MS + 40_000)
  if (isDead) end = 'wedged'
  return { end, violations }
}

/** Calls `onWrite` with every record at the moment at which it is sent. */
function observed(lock: Lock, onWrite: (record: LeaseRecord) => void): Lock {
  return {
    description: lock.description,
    get: (options) => lock.get(options),
    create: (record, options) => {
      onWrite(record)
      return lock.create(record, options)
    },
    update: (base, record, options) => {
      onWrite(record)
      return lock.update(base, record, options)
    },
    watch: (observer) => lock.watch(observer),
    close: () => lock.close(),
  }
}
