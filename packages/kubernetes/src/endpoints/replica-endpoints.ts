import { type CandidacyEvent, type Candidacy, HealthRegistry, OptionsError, type Term } from '@tenure/core'
import { onAbort, type Timer } from '@tenure/core/internal'
import { GroupMembership, type MemberHost } from '../membership/group-membership.ts'
import { type Links, openLinks } from '../membership/links.ts'
import type { MemberChange } from '../membership/member.ts'
import type { Membership } from '../membership/membership.ts'
import type { ResolvedMembershipOptions } from '../membership/membership-options.ts'
import type { MetricsView } from '../membership/metrics-view.ts'
import { endpointMetrics } from './endpoint-metrics.ts'
import { formatNote, noteKey, readNote, wantedEndpoints } from './endpoint-note.ts'
import type { Endpoints } from './endpoints.ts'
import type { EndpointsMode, ResolvedEndpointsOptions } from './endpoints-options.ts'
import { explainEndpoints } from './explain-endpoints.ts'
import { LeaderEndpoint, type LeaderPlace } from './leader-endpoint.ts'
import { OtherRuns } from './other-runs.ts'
import { pollReadiness } from './readiness-poll.ts'
import type { SliceEndpoint } from './slice-endpoint.ts'
import { type GroupView, SliceKeeper } from './slice-keeper.ts'

/** A follower stops within milliseconds. A longer stop is shown as a drain. */
const QUICK_STOP_MS = 5

/** How long the last write may take when this replica stops. The deletion of the Lease needs the rest of the stop timeout of the group. */
const LEAVE_TIMEOUT_MS = 1500

/**
 * The {@link Endpoints} of one replica.
 *
 * Owns the keeper of the slice, and the group if none was given. It says what this replica wants to be in the slice, to the keeper and, in
 * a note of its identity Lease, to the other replicas.
 */
export class ReplicaEndpoints implements Endpoints {
  readonly name: string
  readonly group = 'caches'
  readonly mode: EndpointsMode
  readonly membership: Membership | undefined
  readonly metrics: MetricsView
  readonly #options: ResolvedEndpointsOptions
  readonly #links: Links | undefined
  readonly #keeper: SliceKeeper | undefined
  /** The group that this extension starts and stops. */
  readonly #ownGroup: GroupMembership | undefined
  readonly #gone = new Set<string>()
  readonly #leaving = new AbortController()
  readonly #otherRuns = new OtherRuns()
  #removeListeners: readonly (() => void)[] = []
  /** The lease whose leader is in the slice. */
  #leaderOf: string | undefined
  /** What this replica published last. */
  #latest: SliceEndpoint | undefined
  #isStarted = false
  #isDraining = false
  #drainTimer: Timer | undefined
  #polling: Promise<unknown> = Promise.resolve()

  constructor(options: ResolvedEndpointsOptions, open: typeof openLinks = openLinks) {
    this.#options = options
    this.mode = options.mode
    this.name = `endpoints ${options.name}`
    if (options.mode !== 'none') {
      const { membership } = options
      const isOwnGroup = options.mode !== 'leader' && isOptions(membership)
      this.#links = open(
        isOwnGroup
          ? membership
          : {
              client: options.client,
              proveDeath: false,
              namespace: options.namespace,
              podName: undefined,
              container: undefined,
            },
      )
      const links = this.#links
      this.#ownGroup = isOwnGroup
        ? new GroupMembership(membership, () => ({ ...links, close: async () => {} }))
        : undefined
      if (options.mode !== 'leader') this.membership = isOptions(membership) ? this.#ownGroup : membership
      this.#keeper = this.#createKeeper(links, options.mode)
    }
    const group = this.#ownGroup?.metrics
    const { service, name: slice, address } = options
    this.metrics = endpointMetrics({ service, slice, address, keeper: this.#keeper, group })
  }

  get addresses(): readonly string[] {
    return this.#keeper?.entries.map(({ address }) => address) ?? []
  }

  get isListed(): boolean {
    return this.addresses.includes(this.#options.address)
  }

  async start(host: MemberHost): Promise<void> {
    const keeper = this.#keeper
    if (keeper === undefined) return
    this.#isStarted = true
    try {
      await this.#ownGroup?.start(host)
      this.#removeListeners = [this.#addCheck(host, keeper), this.#follow(keeper)]
      await keeper.start()
      this.#replaceEarlierSelf()
      if (this.mode === 'leader') this.#registerWith(this.#candidacyIn(host), host)
      else this.#polling = this.#poll(host)
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    if (!this.#isStarted || this.#leaving.signal.aborted) return
    this.#leaving.abort()
    this.#drainTimer?.cancel()
    await this.#leave()
    await this.#polling
    await this.#keeper?.close()
    for (const remove of this.#removeListeners) remove()
    await this.#ownGroup?.stop()
    await this.#links?.close()
  }

  onEvent(event: CandidacyEvent): void {
    if (this.mode === 'leader' || !this.#isStarted) return
    if (event.kind === 'term-ending' && event.reason === 'shutdown') this.#drain()
    if (event.kind !== 'state' || event.to.kind !== 'stopped') return
    // Usually nothing else is left to drain, and the stop follows at once.
    this.#drainTimer ??= this.#options.client.clock.setTimer(QUICK_STOP_MS, () => this.#drain())
  }

  onTerm(term: Term): () => void {
    const isOther = term.lease === this.#leaderOf && term.controller !== this.#checkName
    return isOther ? this.#otherRuns.begin() : () => {}
  }

  explain(): string {
    const keeper = this.#keeper
    return explainEndpoints({
      mode: this.mode,
      slice: this.#options.name,
      isStarted: this.#isStarted,
      isListed: this.isListed,
      isStopped: this.#leaving.signal.aborted,
      count: this.addresses.length,
      own: keeper?.own,
      problem: keeper?.refusal ?? keeper?.problem,
      group: this.membership?.explain(),
    })
  }

  #createKeeper({ connection }: Links, mode: Exclude<EndpointsMode, 'none'>): SliceKeeper {
    const { client, name, namespace, service, addressType, ports, address, count } = this.#options
    return new SliceKeeper({
      ...client,
      connection,
      mode,
      address,
      count,
      source: { name, namespace, service, addressType, ports },
      group: () => this.#view(),
      refresh: async (signal) => this.membership?.refresh(signal),
    })
  }

  #view(): GroupView {
    const { membership } = this
    const { name, addressType } = this.#options
    if (membership === undefined) return { wanted: [], gone: this.#gone, isCurrent: true }
    const others = membership.members.filter(({ identity }) => identity !== membership.self?.identity)
    return { wanted: wantedEndpoints(others, name, addressType), gone: this.#gone, isCurrent: membership.isCurrent }
  }

  /** Follows the group. */
  #follow(keeper: SliceKeeper): () => void {
    const remove = this.membership?.on((change) => {
      this.#remember(change)
      keeper.groupChanged()
    })
    return () => remove?.()
  }

  #remember({ kind, member }: MemberChange): void {
    const address = readNote(member, this.#options.name, this.#options.addressType)?.address
    if (address === undefined) return
    // What is not in the slice needs not be removed from it.
    for (const known of this.#gone) if (!this.addresses.includes(known)) this.#gone.delete(known)
    if (kind === 'gone' || kind === 'left') this.#gone.add(address)
    else this.#gone.delete(address)
  }

  /** A Lease of an earlier process with the same address says that it is ready. It cannot be. */
  #replaceEarlierSelf(): void {
    const { membership } = this
    const { name, addressType, address } = this.#options
    for (const member of membership?.members ?? []) {
      if (member.identity === membership?.self?.identity) continue
      if (readNote(member, name, addressType)?.address === address) membership?.bury(member.identity)
    }
  }

  #addCheck({ readyz }: MemberHost, keeper: SliceKeeper): () => void {
    const registry = new HealthRegistry()
    registry.register(this.#checkName, () => {
      if (keeper.refusal !== undefined) throw keeper.refusal
    })
    return readyz.add(registry)
  }

  /** Publishes this replica while it is ready. */
  #poll(host: MemberHost): Promise<void> {
    const { clock } = this.#options.client
    const onChange = (isReady: boolean) => {
      if (!this.#isDraining) void this.#publish(this.#endpoint({ ready: isReady, serving: isReady }))
    }
    return pollReadiness({ clock, isReady: this.#readiness(host), onChange }, this.#leaving.signal)
  }

  /** Its own check must not keep this replica out: it passes when this replica is in. */
  #readiness({ readyz }: MemberHost): () => boolean | Promise<boolean> {
    const own = new Set([this.#checkName])
    return this.#options.isReady ?? (async () => (await readyz.run(own)).every(({ failure }) => failure === undefined))
  }

  /** The others hear of an entry for clients before they see it in the slice: they would put back what they know. */
  async #publish(endpoint: SliceEndpoint): Promise<void> {
    this.#latest = endpoint
    const noted = this.membership?.note(noteKey(this.#options.name), formatNote(endpoint))
    if (endpoint.ready || this.#keeper?.own === undefined) await noted
    if (this.#leaving.signal.aborted || this.#latest !== endpoint) return
    if (!this.#isDraining || endpoint.terminating) this.#keeper?.want(endpoint)
  }

  #drain(): void {
    if (this.#isDraining || this.#leaving.signal.aborted) return
    this.#isDraining = true
    if (this.#keeper?.own === undefined) return
    void this.#publish(this.#endpoint({ ready: false, serving: true, terminating: true }))
  }

  /** The slice first: clients wait for that. Never rejects. */
  async #leave(): Promise<void> {
    const keeper = this.#keeper
    if (keeper !== undefined && (keeper.own !== undefined || this.isListed)) await this.#takeOut(keeper)
    // A group of its own ends with its Lease.
    if (this.#ownGroup === undefined) void this.membership?.note(noteKey(this.#options.name), undefined)
  }

  async #takeOut(keeper: SliceKeeper): Promise<void> {
    keeper.want(undefined)
    const bound = new AbortController()
    const timer = this.#options.client.clock.setTimer(LEAVE_TIMEOUT_MS, () => bound.abort())
    await keeper.settled(bound.signal)
    timer.cancel()
  }

  #endpoint(conditions: Partial<SliceEndpoint>): SliceEndpoint {
    const { address, nodeName, zone } = this.#options
    return { address, nodeName, zone, ready: true, serving: true, terminating: false, ...conditions }
  }

  #candidacyIn({ candidacies }: MemberHost): Candidacy {
    const { lease } = this.#options
    const found = lease === undefined ? candidacies[0] : candidacies.find((candidacy) => candidacy.lease === lease)
    if (found !== undefined) return found
    throw OptionsError.expected('`lease` of `endpoints()` to be a lease of the manager', lease)
  }

  #registerWith(candidacy: Candidacy, host: MemberHost): void {
    this.#leaderOf = candidacy.lease
    const { clock } = this.#options.client
    candidacy.register(() => new LeaderEndpoint(this.#checkName, this.#leaderPlace(host), clock))
  }

  #leaderPlace(host: MemberHost): LeaderPlace {
    const { clock } = this.#options.client
    return {
      enter: async (signal) => {
        const ready = new AbortController()
        const forget = onAbort(signal, () => ready.abort())
        const isReady = this.#readiness(host)
        await pollReadiness({ clock, isReady, onChange: () => ready.abort() }, ready.signal)
        forget()
        if (signal.aborted) return
        this.#keeper?.want(this.#endpoint({}))
        await this.#keeper?.settled(signal)
      },
      drain: () => this.#keeper?.want(this.#endpoint({ ready: false, terminating: true })),
      leave: async (signal) => {
        this.#keeper?.want(undefined)
        await this.#keeper?.settled(signal)
      },
      othersDone: (signal) => this.#otherRuns.done(signal),
    }
  }

  /** The name of the check of `/readyz`, and of the controller with mode `leader`. */
  get #checkName(): string {
    return `endpoints-${this.#options.name}`
  }
}

/** Whether the group is still to be made. */
function isOptions(group: Membership | ResolvedMembershipOptions): group is ResolvedMembershipOptions {
  return 'leaseDurationMs' in group
}
