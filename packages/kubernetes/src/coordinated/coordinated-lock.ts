import {
  type Clock,
  type LeaseRecord,
  type LockObserver,
  type LockRequestOptions,
  type LockSnapshot,
  type LockWatch,
  type Logger,
  type PresentLease,
} from '@tenure/core'
import {
  type Coordinator,
  type HolderObserver,
  jittered,
  type LeaseHolder,
  type Random,
  textOf,
  type Timer,
} from '@tenure/core/internal'
import { withDeadline } from '../client/deadline.ts'
import { getObject } from '../client/object-requests.ts'
import type { ObjectReference } from '../client/resource.ts'
import { type LeaseLockOptions, resolveLeaseLockOptions } from '../locks/lease/lease-lock-options.ts'
import { LEASES } from '../locks/lease/lease-object.ts'
import type { LeaseClient } from '../locks/lease/lease-client.ts'
import { ObjectLock } from '../locks/lease/object-lock.ts'
import { CANDIDATES, type CandidateFacts, type OwnerPod } from './candidate-object.ts'
import { bury } from './burial.ts'
import { COORDINATED_LEASE } from './coordinated-lease.ts'
import { serverElects } from './coordination-probe.ts'
import { OwnCandidate } from './own-candidate.ts'
import { PreferredCandidate } from './preferred-candidate.ts'
import { Standstill } from './standstill.ts'
import { freeStuckLease, isGone } from './stuck-lease.ts'

/** Options of {@link CoordinatedLock}. */
export interface CoordinatedLockOptions extends Omit<LeaseLockOptions, 'clock' | 'random' | 'logger'> {
  /** The identity of the replica, which is the name of its LeaseCandidate. */
  readonly identity: string
  /** What the candidate says of itself. */
  readonly facts: CandidateFacts
  /** The lease duration of the replicas in milliseconds: how long a holder may act that this one has not seen. */
  readonly leaseDurationMs: number
  /** Whether to ask who decides, or to take it for granted that the API server does. */
  readonly coordination: 'auto' | 'server'
  /** The Pod of this replica; undefined if it is not known. */
  readonly pod?: OwnerPod | undefined
  /** Times probes, answers and retries. */
  readonly clock: Clock
  /** Spreads retries. */
  readonly random: Random
  /** Hears of changes of who decides, and of candidates that cannot be written. */
  readonly logger: Logger
}

/** How often who decides is asked again while the lease contradicts the answer. */
const DOUBT_MS = 5000

/** How often who decides is asked again while nothing gives a reason to. Answers of different API servers may differ during an update. */
const ASK_AGAIN_MS = 5 * 60 * 1000

const REQUEST_TIMEOUT_MS = 2500
const RETRY_MS = 1000

/**
 * A Lease whose holder the election controller of the API server chooses among LeaseCandidates, if the server has one. Otherwise the
 * replicas decide among themselves, as with a `LeaseLock`.
 *
 * 1. Who decides is asked by a dry run: at the start, when the watch has reconnected, when the API of LeaseCandidates vanishes, when the
 *    lease contradicts the answer, and every five minutes.
 * 2. Replicas that have different answers do not lead at once: every one acquires the lease by compare-and-swap, and no earlier than
 *    the holder of before may act.
 * 3. A replica that leaves deletes its candidate first and then releases the lease. In the other order the controller names it again.
 * 4. A lease that is written here always has the field `holderIdentity`. kube-apiserver 1.36 crashes if it lacks it and a candidate lives.
 */
export class CoordinatedLock extends ObjectLock {
  /** Who decides, and the candidate of this replica. */
  readonly coordinator: Coordinator
  readonly #options: CoordinatedLockOptions
  readonly #client: LeaseClient
  readonly #lease: ObjectReference
  readonly #candidate: OwnCandidate
  readonly #preferred: PreferredCandidate
  readonly #listeners = new Set<() => void>()
  readonly #closing = new AbortController()
  #state: Coordinator['state']
  #standsFrom: number | undefined
  #probing: Promise<void> | undefined
  #retry: Timer | undefined
  #holder: string | undefined
  readonly #standstill: Standstill
  /** The holder whose death is proved, until its lease is released. */
  #dead: LeaseHolder | undefined
  #burial: Timer | undefined
  #wasDown = false
  #askedAt: number | undefined
  #problem: string | undefined

  /** Does no I/O. @throws OptionsError when an option is malformed */
  constructor(options: CoordinatedLockOptions) {
    const { identity, facts, leaseDurationMs, coordination, pod, clock, random, logger, ...ofLease } = options
    const resolved = resolveLeaseLockOptions(ofLease, 'CoordinatedLock')
    super({ ...resolved, codec: COORDINATED_LEASE })
    const { client, namespace, name: leaseName, silenceMs } = resolved
    this.#options = options
    this.#client = client
    this.#lease = { ...LEASES, namespace, name: leaseName }
    this.#standstill = new Standstill({
      clock,
      random,
      leaseDurationMs,
      onStill: (snapshot) => {
        this.#probe()
        void this.#free(snapshot)
      },
      onNamed: (lease) => void this.#freeOfGone(lease),
    })
    this.#state = coordination === 'server' ? 'server' : 'asking'
    this.#candidate = new OwnCandidate({
      client,
      name: identity,
      namespace,
      leaseName,
      facts,
      pod,
      silenceMs,
      clock,
      random,
      logger,
      holder: () => this.#holder,
      onMissingApi: () => this.#probe(),
    })
    this.#preferred = this.#createPreferred()
    this.coordinator = this.#coordinator()
  }

  override watch(observer: LockObserver): LockWatch {
    this.#probe()
    return super.watch({
      changed: (snapshot) => {
        this.#observed(snapshot)
        observer.changed(snapshot)
      },
      up: () => {
        if (this.#wasDown) this.#probe()
        this.#wasDown = false
        observer.up()
      },
      down: (cause) => {
        this.#wasDown = true
        this.#standstill.interrupted()
        observer.down(cause)
      },
    })
  }

  override async update(base: PresentLease, record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    if (record.holderIdentity === '' && this.#state === 'server') await this.#candidate.withdraw(options.signal)
    return super.update(base, record, options)
  }

  override async close(): Promise<void> {
    this.#closing.abort()
    this.#retry?.cancel()
    this.#standstill.close()
    this.#burial?.cancel()
    this.#preferred.close()
    await this.#probing
    await this.#candidate.close()
    await super.close()
  }

  #readCandidate(name: string): Promise<unknown> {
    const reference = { ...CANDIDATES, namespace: this.#lease.namespace, name }
    return this.#bounded((signal) => this.#client.transport.send(getObject(reference, signal)))
  }

  #createPreferred(): PreferredCandidate {
    return new PreferredCandidate({
      clock: this.#options.clock,
      facts: this.#options.facts,
      own: () => this.#candidate.stored,
      read: (name) => this.#readCandidate(name),
      onChanged: () => this.#changed(),
      onFailed: (name, error) => this.#warn('candidate-unseen', error, `could not read the LeaseCandidate ${name}`),
    })
  }

  #changed(): void {
    for (const changed of this.#listeners) changed()
  }

  #coordinator(): Coordinator {
    const [state, preferred, candidate] = [() => this.#state, () => this.#preferred.current, this.#candidate]
    return {
      get pings() {
        return candidate.pings
      },
      versionsOf: (identity) => candidate.versionsOf(identity),
      get state() {
        return state()
      },
      get preferred() {
        return preferred()
      },
      stand: (from) => {
        this.#standsFrom = from
        if (this.#state === 'server') this.#candidate.stand(from)
      },
      watch: (changed) => {
        this.#listeners.add(changed)
        return { close: async () => void this.#listeners.delete(changed) }
      },
    }
  }

  #observed(snapshot: LockSnapshot): void {
    this.#standstill.seen(snapshot)
    const fields = snapshot.kind === 'present' ? snapshot.record : undefined
    this.#holder = fields?.holderIdentity
    if (this.#state === 'peers' && this.#isCoordinated(fields)) this.#doubt()
    this.#preferred.seen(this.#preferredIn(fields))
  }

  /** Asks again who decides, because the lease contradicts the answer. It may keep fields of a controller that was turned off. */
  #doubt(): void {
    const now = this.#options.clock.now()
    if (this.#askedAt !== undefined && now - this.#askedAt < DOUBT_MS) return
    this.#probe()
  }

  /** Whether a record shows that a controller decides: it prefers somebody, or has named this replica. */
  #isCoordinated(record: LeaseRecord | undefined): boolean {
    if (record === undefined) return false
    const { holderIdentity, preferredHolder = '', acquireTime } = record
    return preferredHolder !== '' || (holderIdentity === this.#options.identity && acquireTime === undefined)
  }

  /** Who is to lead in place of this replica, if it holds the lease. */
  #preferredIn(record: LeaseRecord | undefined): string | undefined {
    const { identity } = this.#options
    const { holderIdentity, preferredHolder = '' } = record ?? {}
    return holderIdentity === identity && !['', identity].includes(preferredHolder) ? preferredHolder : undefined
  }

  /**
   * The named replica has not come. If its candidate is gone, it has left, and this replica frees the lease, so that the controller names
   * another. The lease is then as free as it was before the controller named anybody.
   */
  async #freeOfGone(lease: PresentLease): Promise<void> {
    if (await isGone(this.#readCandidate(lease.record.holderIdentity))) await this.#free(lease)
  }

  /** Frees a lease in the name of its holder. */
  async #free(snapshot: LockSnapshot): Promise<void> {
    if (this.#state !== 'server' || snapshot.kind === 'absent') return
    const { holderIdentity } = snapshot.record
    if (['', this.#options.identity].includes(holderIdentity)) return
    const update = (record: LeaseRecord) => this.#bounded((signal) => super.update(snapshot, record, { signal }))
    await freeStuckLease(snapshot.record, update).catch((error: unknown) =>
      this.#warn('lease-stuck', error, `could not free the lease of ${holderIdentity}, which does not come`),
    )
  }

  /** Finds out who decides. */
  #probe(): void {
    if (this.#closing.signal.aborted) return
    this.#retry?.cancel()
    this.#probing ??= this.#ask()
      .catch((error: unknown) => {
        this.#warn('coordination-unknown', error, 'could not find out whether the API server elects')
        this.#probeIn(RETRY_MS)
      })
      .finally(() => (this.#probing = undefined))
  }

  async #ask(): Promise<void> {
    const { clock, coordination } = this.#options
    this.#askedAt = clock.now()
    const elects = await this.#bounded((signal) => serverElects(this.#client, this.#lease.namespace, signal))
    this.#problem = undefined
    if (elects || coordination === 'auto') {
      this.#decide(elects ? 'server' : 'peers')
      return this.#probeIn(ASK_AGAIN_MS)
    }
    const message = "`coordination: 'server'` needs an API server with the feature gate CoordinatedLeaderElection"
    this.#warn('coordination-missing', new Error(message), 'nobody is elected')
    this.#probeIn(RETRY_MS)
  }

  #probeIn(delayMs: number): void {
    if (this.#closing.signal.aborted) return
    const { clock, random } = this.#options
    this.#retry?.cancel()
    this.#retry = clock.setTimer(jittered(delayMs, random()), () => this.#probe())
  }

  #decide(state: 'server' | 'peers'): void {
    const isServer = state === 'server'
    const isChanged = state !== this.#state
    this.#state = state
    this.#candidate.stand(isServer ? this.#standsFrom : undefined)
    if (!isChanged) return
    const { logger, name: lease } = this.#options
    const who = isServer ? 'the election controller of the API server decides' : 'the replicas decide'
    logger.info({ event: 'coordination', lease, coordination: state }, `${who} who leads`)
    this.#changed()
    void this.#bury()
  }

  /** Also removes what a dead holder left, so that the controller need not wait for it. */
  protected override holderObserver(holder: LeaseHolder, observer: HolderObserver): HolderObserver {
    return {
      dead: () => {
        observer.dead()
        this.#dead = holder
        void this.#bury()
      },
    }
  }

  async #bury(): Promise<void> {
    const holder = this.#dead
    if (this.#state !== 'server' || holder === undefined) return
    const { clock, random } = this.#options
    try {
      await this.#bounded((signal) => bury(holder, { client: this.#client, lease: this.#lease, clock, signal }))
      this.#dead = undefined
    } catch (error) {
      this.#warn('burial-failed', error, `could not release the lease of ${holder.identity}, whose process has ended`)
      this.#burial?.cancel()
      this.#burial = clock.setTimer(jittered(RETRY_MS, random()), () => void this.#bury())
    }
  }

  #bounded<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock } = this.#options
    return withDeadline({ clock, timeoutMs: REQUEST_TIMEOUT_MS, signal: this.#closing.signal }, run)
  }

  /** Logs a problem when it begins and when it changes. */
  #warn(event: string, err: unknown, what: string): void {
    if (this.#closing.signal.aborted) return
    const { logger, name: lease } = this.#options
    const message = `${what}: ${textOf(err)}`
    if (this.#problem !== message) logger.warn({ event, lease, err }, message)
    this.#problem = message
  }
}
