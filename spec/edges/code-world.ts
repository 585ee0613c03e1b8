import { LockRequestError } from '../../packages/core/src/lock/lock-request-error.ts'
import type { LockSnapshot } from '../../packages/core/src/lock/lock.ts'
import { MemoryLeaseStore } from '../../packages/core/src/lock/memory-lock.ts'
import { processOf, viewOf } from './abstraction.ts'
import { CodeReplica, type SentWrite, type Variant } from './code-replica.ts'
import { HandClock } from './hand-clock.ts'
import type { HeldRequest } from './held-lock.ts'
import { type ModelRecord, type ModelState, type ModelWrite, type Name, NAMES } from './model-state.ts'
import { ABSENT, FREE, modelRecordOf } from './records.ts'
import { TICK_MS, ticksUntil } from './timing.ts'
import { validityMs } from '../../packages/core/src/election/timing-options.ts'

/** A replica wrote although the constants of the model allow no further write of unknown outcome. */
export class BeyondBounds extends Error {}

/** The bounds of a world, as the constants of the model say them. */
interface Bounds {
  readonly slots: number
  readonly period: number
}

/** Two real electors on one stored lease. Every step of anything is a method; nothing happens by itself. */
export class CodeWorld {
  readonly hist: { readonly rec: ModelRecord; readonly snapshot: LockSnapshot }[] = []
  readonly slow: readonly Name[]
  readonly writes: Record<Name, (SentWrite | undefined)[]>
  readonly #store = new MemoryLeaseStore()
  readonly #variant: Variant
  readonly #bounds: Bounds
  readonly #replicas: Record<Name, CodeReplica>
  /** What was sent since the last step, before it has a place among the writes. */
  readonly #sent: { readonly replica: CodeReplica; readonly request: HeldRequest }[] = []
  /** What was shown to a replica that may not have seen it yet. */
  #shown: { readonly name: Name; readonly version: number } | undefined
  #time = 0
  #lastEpoch = 0
  #isBeyond = false

  constructor(variant: Variant, bounds: Bounds, slow: readonly Name[]) {
    this.#variant = variant
    this.#bounds = bounds
    this.slow = slow
    const none = (): undefined[] => Array.from({ length: bounds.slots }, () => undefined)
    this.writes = { r1: none(), r2: none() }
    const free = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: undefined, renewTime: undefined }
    const lease = this.#store.write('lease', { ...free, leaseTransitions: 0, annotations: {} }, undefined)
    this.hist.push({ rec: FREE, snapshot: lease })
    this.#replicas = { r1: this.#startReplica('r1', 0), r2: this.#startReplica('r2', 0) }
  }

  get version(): number {
    return this.hist.length
  }

  replica(name: Name): CodeReplica {
    return this.#replicas[name]
  }

  /** The state of everything in the terms of the model. @throws BeyondBounds if the model has no such state. */
  state(): ModelState {
    if (this.#isBeyond) throw new BeyondBounds()
    for (const name of NAMES) {
      const { death } = this.#replicas[name]
      if (death !== undefined) throw death
    }
    return {
      hist: this.hist.map(({ rec }) => rec),
      proc: { r1: processOf(this.#replicas.r1), r2: processOf(this.#replicas.r2) },
      msg: { r1: this.#writesOf('r1'), r2: this.#writesOf('r2') },
      time: this.#time,
      slow: this.slow,
      last: { epoch: this.#lastEpoch },
    }
  }

  /** Lets answers reach the electors. */
  async settle(): Promise<void> {
    await new Promise<void>((resolve) => void setImmediate(resolve))
    if (this.#shown !== undefined) this.#noteSeen(this.#shown.name, this.#shown.version)
    this.#shown = undefined
    for (const { replica, request } of this.#sent.splice(0)) this.#place(replica, request)
    for (const name of NAMES) this.#lastEpoch = Math.max(this.#lastEpoch, this.#replicas[name].epoch)
  }

  tick(): void {
    const isMissed = this.#time % 3 === 0
    for (const name of NAMES) if (!(isMissed && this.slow.includes(name))) this.#replicas[name].clock.pass(TICK_MS)
    this.#time = (this.#time + 1) % this.#bounds.period
  }

  /** Whether a write may still take effect. */
  mayLand({ done, base }: SentWrite): boolean {
    return !done && base === this.version
  }

  async takeEffect(name: Name, write: SentWrite): Promise<void> {
    write.answer = await this.#replicas[name].lock.perform(write.request)
    write.done = true
    this.#append({ ...write.rec, num: this.version + 1 }, write.answer)
  }

  lose(name: Name, slot: number): void {
    const write = this.writes[name][slot]
    this.writes[name][slot] = undefined
    if (write === undefined || !isOpen(write.request)) return
    write.request.isOpen = false
    write.request.reject(new LockRequestError('unreachable', 'The request was lost'))
  }

  /** The watch shows a version. */
  see(name: Name, version: number): void {
    const seen = this.hist[version - 1]
    if (seen === undefined) throw new Error(`There is no version ${version}`)
    this.#shown = { name, version: version }
    this.#replicas[name].lock.observer?.changed(seen.snapshot)
  }

  /** The answer to a write that took effect. */
  answer(name: Name, write: SentWrite): void {
    if (write.answer === undefined) throw new Error('The write has no answer')
    this.#shown = { name, version: write.base + 1 }
    write.request.isOpen = false
    write.request.resolve(write.answer)
  }

  /** The store refuses a write whose base has been replaced. */
  async refuse(name: Name, { request }: SentWrite): Promise<void> {
    const refusal: unknown = await this.#replicas[name].lock.perform(request).then(
      () => new Error('Expected the store to refuse the write'),
      (error: unknown) => error,
    )
    request.isOpen = false
    request.reject(refusal)
  }

  async answerRead(name: Name): Promise<void> {
    const replica = this.#replicas[name]
    const { read } = replica
    if (read === undefined) throw new Error('There is no read in flight')
    this.#shown = { name, version: this.version }
    replica.read = undefined
    read.isOpen = false
    read.resolve(await replica.lock.perform(read))
  }

  /** The process ends and begins again. */
  crash(name: Name): void {
    const old = this.#replicas[name]
    this.writes[name] = this.writes[name].map((write) =>
      write !== undefined && this.mayLand(write) ? write : undefined,
    )
    if (old.write !== undefined) old.write.request.isOpen = false
    this.#replicas[name] = this.#startReplica(name, old.inc + 1, new HandClock(old.clock))
  }

  deleteLease(): void {
    this.#store.delete('lease')
    this.#append({ ...ABSENT, num: this.version + 1 }, this.#store.read('lease'))
  }

  #startReplica(name: Name, inc: number, clock = new HandClock()): CodeReplica {
    const identity = { name, inc, clock, store: this.#store }
    const replica = new CodeReplica(identity, this.#variant, (request) => void this.#sent.push({ replica, request }))
    const last = this.hist.at(-1)
    if (last !== undefined) replica.start(last.snapshot, this.version)
    return replica
  }

  #place(replica: CodeReplica, request: HeldRequest): void {
    const { name, inc } = replica
    const { write } = request
    const slot = this.writes[name].indexOf(undefined)
    if (slot === -1 || write === undefined) {
      this.#isBeyond = true
      return
    }
    const base = write.base === undefined ? replica.view : Number(write.base.version)
    const before = this.hist[base - 1]
    if (before === undefined) throw new Error(`${name} writes on version ${base}, which it cannot know`)
    const lastRecord = before.snapshot.kind === 'present' ? before.snapshot.record : undefined
    const source = [name, inc, slot + 1] as const
    const rec = modelRecordOf(write.record, { before: before.rec, lastRecord, version: base + 1, source })
    const isHeld = rec.holder[0] === name && rec.stamp === base + 1
    const until = isHeld ? request.sentAt + validityMs(replica.timing) : 0
    replica.write = { request, base, rec, inc, until, done: false, answer: undefined }
    this.writes[name][slot] = replica.write
  }

  #append(rec: ModelRecord, snapshot: LockSnapshot): void {
    this.hist.push({ rec, snapshot })
    for (const name of NAMES) {
      const { inc } = this.#replicas[name]
      this.writes[name] = this.writes[name].map((write) =>
        write !== undefined && write.inc !== inc && !this.mayLand(write) ? undefined : write,
      )
    }
  }

  #noteSeen(name: Name, version: number): void {
    const replica = this.#replicas[name]
    const seen = viewOf(replica.elector.state) ?? version
    if (version <= replica.view || seen !== version) return
    replica.view = version
    this.writes[name] = this.writes[name].map((write) =>
      write !== undefined && write.base < version ? undefined : write,
    )
  }

  #writesOf(name: Name): readonly (ModelWrite | { readonly base: 0 })[] {
    const { clock, inc: current } = this.#replicas[name]
    return this.writes[name].map((write) => {
      if (write === undefined) return { base: 0 }
      const { base, rec, inc, done, until } = write
      return { base, rec, inc, done, left: inc === current ? ticksUntil(until, clock.now()) : 0 }
    })
  }
}

/** Whether the process still waits for the answer to a request. */
function isOpen({ isOpen: open }: HeldRequest): boolean {
  return open
}
