/**
 * The controller of coordinated leader election, as it runs in kube-apiserver 1.36: it names the best candidate as the holder of a lease
 * that is free, and as the preferred holder of a lease that a worse candidate holds. It also collects dead candidates.
 *
 * 1. Every step looks at the stored objects alone. The controller keeps no state but its timers.
 * 2. It judges expiry by its own clock and the times that holders and candidates write. Observed time would be sound, but it is not what
 *    kube-apiserver does.
 * 3. It never takes a valid lease from its holder.
 * 4. It holds no lock: this server is always alone.
 *
 * One difference: kube-apiserver 1.36.3 crashes at a lease without the field `holderIdentity`. Here such a lease is free.
 */
import type { Clock } from '@tenure/core'
import { formatMicroTime, type Random, type Timer } from '@tenure/core/internal'
import { asJsonObject, asString, type JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import type { ObjectApi } from '../objects/object-api.ts'
import type { ObjectRequest } from '../objects/object-request.ts'
import type { ResourceCatalog } from '../resources/resource-catalog.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'
import type { Store } from '../storage/store.ts'
import { type CoordinationSettings, elects } from './coordination-settings.ts'
import { type Candidate, isPending, microsOf, pickOldest, pickStrategy, readCandidate } from './candidate.ts'

/** How soon a lease is looked at again. */
const REQUEUE_MS = 5000

/** How long a candidate has to answer a ping, and how long its answer counts. */
const ELECTION_US = 5_000_000

/** After this time without a renewal a candidate is dead; after half of it, it is pinged. */
const CANDIDATE_VALID_US = 30 * 60 * 1_000_000

/** How long a named holder has to acquire the lease. */
const NAMED_SECONDS = 5

const COLLECTION_INTERVAL_MS = 30 * 60 * 1000

const OLDEST_EMULATION_VERSION = 'OldestEmulationVersion'

/** The parts of an {@link ElectionController}. */
interface ElectionControllerParts {
  readonly store: Store
  readonly objects: ObjectApi
  readonly clock: Clock
  readonly random: Random
  readonly leases: ResourceDefinition
  readonly candidates: ResourceDefinition
}

/** Starts to elect, if that is on. */
export function startElections(
  coordination: CoordinationSettings,
  { catalog, ...parts }: Omit<ElectionControllerParts, 'leases' | 'candidates'> & { readonly catalog: ResourceCatalog },
): ElectionController | undefined {
  const leases = catalog.find('coordination.k8s.io', 'v1', 'leases')
  const candidates = catalog.find('coordination.k8s.io', 'v1beta1', 'leasecandidates')
  if (!elects(coordination) || leases === undefined || candidates === undefined) return undefined
  return new ElectionController({ ...parts, leases, candidates })
}

/** A lease by namespace and name. */
interface LeaseKey {
  readonly namespace: string
  readonly name: string
}

/** Elects the holders of leases that have candidates, until it is stopped. */
export class ElectionController {
  readonly #parts: ElectionControllerParts
  readonly #timers = new Map<string, { readonly dueAt: number; readonly timer: Timer }>()
  readonly #unwatch: readonly (() => void)[]
  #collection: Timer | undefined

  constructor(parts: ElectionControllerParts) {
    this.#parts = parts
    const { store, leases, candidates } = parts
    this.#unwatch = [
      store.watch(leases.collection, ({ ref }) => this.#enqueue(ref, 0)),
      store.watch(candidates.collection, ({ object }) => this.#onCandidate(object)),
    ]
    this.#collect()
    for (const object of store.list(candidates.collection)) this.#onCandidate(object)
  }

  /** Stops all timers. Elections wait until another controller starts. */
  stop(): void {
    for (const unwatch of this.#unwatch) unwatch()
    for (const { timer } of this.#timers.values()) timer.cancel()
    this.#timers.clear()
    this.#collection?.cancel()
  }

  #onCandidate(object: KubeObject): void {
    const candidate = readCandidate(object)
    if (!isPending(candidate)) this.#enqueue(leaseOf(candidate), 0)
  }

  #enqueue(lease: LeaseKey, delayMs: number): void {
    const key = `${lease.namespace}/${lease.name}`
    const { clock } = this.#parts
    const dueAt = clock.now() + delayMs
    const planned = this.#timers.get(key)
    if (planned !== undefined && planned.dueAt <= dueAt) return
    planned?.timer.cancel()
    const timer = clock.setTimer(delayMs, () => {
      this.#timers.delete(key)
      if (this.#reconcile(lease)) this.#enqueue(lease, REQUEUE_MS)
    })
    this.#timers.set(key, { dueAt, timer })
  }

  /** Takes one step for a lease. Returns whether to look again, without waiting for a change. */
  #reconcile(lease: LeaseKey): boolean {
    const nowUs = this.#nowUs()
    const candidates = this.#candidatesOf(lease, nowUs)
    if (candidates.length === 0) return false
    const stored = this.#parts.store.get({ collection: this.#parts.leases.collection, ...lease })
    if (!this.#isElectionNeeded(stored, candidates, nowUs)) return true
    if (this.#ping(candidates, nowUs)) return true
    const voters = candidates.filter(({ renewTime }) => renewTime !== undefined && renewTime + ELECTION_US > nowUs)
    const strategy = pickStrategy(voters)
    // As kube-apiserver: it logs an error, and only a change of an object brings the next step.
    if (strategy === undefined) return false
    const electee = strategy === OLDEST_EMULATION_VERSION ? pickOldest(voters, this.#parts.random) : undefined
    this.#write(lease, stored, { strategy, holder: electee?.name, nowUs })
    return true
  }

  #candidatesOf({ namespace, name }: LeaseKey, nowUs: number): Candidate[] {
    const { store, candidates } = this.#parts
    return store
      .list(candidates.collection, namespace)
      .map(readCandidate)
      .filter(({ leaseName }) => leaseName === name)
      .filter(({ renewTime }) => renewTime !== undefined && renewTime + CANDIDATE_VALID_US >= nowUs)
  }

  #isElectionNeeded(lease: KubeObject | undefined, candidates: readonly Candidate[], nowUs: number): boolean {
    if (lease === undefined || isExpired(lease, nowUs) || holderOf(lease) === '') return true
    if (candidates.some(({ renewTime = 0 }) => renewTime + CANDIDATE_VALID_US / 2 < nowUs)) return true
    if (pickStrategy(candidates) !== OLDEST_EMULATION_VERSION) return false
    return pickOldest(candidates, this.#parts.random)?.name !== holderOf(lease)
  }

  /** Pings those whose answer is not fresh. Returns whether an answer is to be waited for. */
  #ping(candidates: readonly Candidate[], nowUs: number): boolean {
    let waits = false
    for (const candidate of candidates) {
      const { pingTime, renewTime = 0 } = candidate
      const isAsked = pingTime !== undefined && pingTime + ELECTION_US > nowUs && renewTime < pingTime
      const isFresh = renewTime + ELECTION_US > nowUs
      // A candidate that did not answer its last ping is not asked again: it has to renew by itself.
      const mayBeAsked = pingTime === undefined || (pingTime + ELECTION_US < nowUs && renewTime >= pingTime)
      if (isAsked) waits = true
      else if (!isFresh && mayBeAsked) {
        this.#update(this.#parts.candidates, candidate.object, { pingTime: this.#now() })
        waits = true
      }
    }
    return waits
  }

  #write(
    { namespace, name }: LeaseKey,
    stored: KubeObject | undefined,
    { strategy, holder, nowUs }: { readonly strategy: string; readonly holder: string | undefined; nowUs: number },
  ): void {
    const { leases } = this.#parts
    const named = {
      ...(holder !== undefined && { holderIdentity: holder }),
      leaseDurationSeconds: NAMED_SECONDS,
      renewTime: this.#now(),
      strategy,
    }
    if (stored === undefined) {
      this.#attempt(() =>
        this.#parts.objects.create(this.#request(leases, { namespace, name: '' }), { metadata: { name }, spec: named }),
      )
      return
    }
    const isFree = holderOf(stored) === '' || (isExpired(stored, nowUs) && holder !== holderOf(stored))
    const isWorse = holder !== undefined && holder !== holderOf(stored)
    const { strategy: before } = asJsonObject(stored['spec'])
    if (isFree && holder !== undefined) {
      this.#update(leases, stored, { ...named, preferredHolder: undefined, acquireTime: undefined })
    } else if (isWorse) {
      this.#update(leases, stored, { preferredHolder: holder, strategy })
    } else if (before !== strategy) {
      this.#update(leases, stored, { strategy })
    }
  }

  /** Deletes candidates that have been dead for long, now and at intervals. */
  #collect(): void {
    const { store, objects, candidates, clock } = this.#parts
    const nowUs = this.#nowUs()
    for (const object of store.list(candidates.collection)) {
      const { renewTime, name } = readCandidate(object)
      if (renewTime !== undefined && renewTime + CANDIDATE_VALID_US >= nowUs) continue
      const { namespace = '' } = object.metadata
      this.#attempt(() =>
        objects.deletion.delete({ definition: candidates, namespace, name, dryRun: false, options: {} }),
      )
    }
    this.#collection = clock.setTimer(COLLECTION_INTERVAL_MS, () => this.#collect())
  }

  /** Replaces fields of the spec of a stored object; those that are undefined are removed. */
  #update(definition: ResourceDefinition, stored: KubeObject, fields: Readonly<Record<string, unknown>>): void {
    const { namespace = '', name = '' } = stored.metadata
    const merged = { ...asJsonObject(stored['spec']), ...fields }
    const spec = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined)) as JsonObject
    this.#attempt(() =>
      this.#parts.objects.update(this.#request(definition, { namespace, name }), {
        ...definition.fromStored(stored),
        spec,
      }),
    )
  }

  /** A write that the rules of the API refuse is dropped, as kube-apiserver logs it and goes on. */
  #attempt(write: () => unknown): void {
    try {
      write()
    } catch {
      // The next change of an object brings another step.
    }
  }

  #request(definition: ResourceDefinition, { namespace, name }: LeaseKey): ObjectRequest {
    return {
      definition,
      namespace,
      name,
      subresource: '',
      manager: 'kube-apiserver',
      dryRun: false,
      fieldValidation: 'Ignore',
      warn: () => {},
    }
  }

  #now(): string {
    return formatMicroTime(this.#parts.clock.wallTime())
  }

  #nowUs(): number {
    return Math.floor(this.#parts.clock.wallTime()) * 1000
  }
}

function leaseOf({ object, leaseName }: Candidate): LeaseKey {
  return { namespace: object.metadata.namespace ?? '', name: leaseName }
}

function holderOf(lease: KubeObject): string {
  return asString(asJsonObject(lease['spec'])['holderIdentity']) ?? ''
}

function isExpired(lease: KubeObject, nowUs: number): boolean {
  const { renewTime, leaseDurationSeconds } = asJsonObject(lease['spec'])
  const renewedAt = microsOf(renewTime)
  if (renewedAt === undefined || typeof leaseDurationSeconds !== 'number') return true
  return renewedAt + leaseDurationSeconds * 1_000_000 < nowUs
}
