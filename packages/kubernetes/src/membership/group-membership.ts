import { type ExtensionHost, HealthRegistry } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { explainGroup } from './explain-group.ts'
import { Graves } from './graves.ts'
import { GroupCounters } from './group-counters.ts'
import { GroupWatch } from './group-watch.ts'
import { type Links, openLinks } from './links.ts'
import type { Member, MemberChange } from './member.ts'
import { MemberDeaths } from './member-deaths.ts'
import { type MemberFacts, memberLeaseName } from './member-lease.ts'
import type { Membership } from './membership.ts'
import type { ResolvedMembershipOptions } from './membership-options.ts'
import type { MetricsView } from './metrics-view.ts'
import { isRefusal, OwnLease } from './own-lease.ts'

/** The part of a manager that a member needs. */
export type MemberHost = Pick<ExtensionHost, 'identity' | 'candidacies' | 'readyz'>

/** What exists while the member is started. */
interface Running {
  readonly host: MemberHost
  readonly links: Links
  readonly lease: OwnLease
  readonly watch: GroupWatch
  readonly graves: Graves
  readonly deaths: MemberDeaths | undefined
  readonly removeCheck: () => void
}

/**
 * The {@link Membership} of one group.
 *
 * Owns its connections, its Lease and the watch of the group.
 */
export class GroupMembership implements Membership {
  readonly name: string
  readonly group = 'caches'
  readonly #options: ResolvedMembershipOptions
  readonly #openLinks: typeof openLinks
  readonly #listeners = new Set<(change: MemberChange) => void>()
  readonly #counters: GroupCounters
  readonly #notes = new Map<string, string>()
  readonly #stopping = new AbortController()
  #running: Running | undefined
  #work: Promise<unknown> = Promise.resolve()

  constructor(options: ResolvedMembershipOptions, open: typeof openLinks = openLinks) {
    this.#options = options
    this.#openLinks = open
    this.name = `membership ${options.group}`
    this.#counters = new GroupCounters(options.group, () => this.members)
  }

  get metrics(): MetricsView {
    return this.#counters.view
  }

  get members(): readonly Member[] {
    return this.#running?.watch.roster.members ?? []
  }

  get self(): Member | undefined {
    if (this.#running === undefined) return undefined
    const { host, lease, watch } = this.#running
    const { address, version, zone, notes } = this.#facts()
    const state = this.#stopping.signal.aborted ? 'left' : lease.problem === undefined ? 'living' : 'suspect'
    const { labels } = this.#options
    const renewedAt = watch.roster.members.find((member) => member.lease === lease.name)?.renewedAt ?? 0
    return { identity: host.identity, lease: lease.name, state, address, version, zone, labels, renewedAt, notes }
  }

  get isCurrent(): boolean {
    if (this.#running === undefined) return false
    const { lease, watch } = this.#running
    // A view without the own Lease cannot be right.
    const isIn = watch.roster.leases.some(({ name }) => name === lease.name)
    return watch.roster.isCurrent && (isIn || !lease.isPublished)
  }

  async start(host: MemberHost): Promise<void> {
    const { lease, watch } = this.#assemble(host)
    try {
      await lease.publish().catch(failOnRefusal)
      this.#work = Promise.all([lease.run(this.#stopping.signal), watch.run()])
      await watch.opened
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    const running = this.#running
    if (running === undefined || this.#stopping.signal.aborted) return
    await running.lease.withdraw()
    this.#stopping.abort()
    running.watch.close()
    running.removeCheck()
    await Promise.all([running.graves.close(), running.deaths?.close(), this.#work])
    await running.links.close()
    this.#listeners.clear()
  }

  on(listener: (change: MemberChange) => void): () => void {
    const own = (change: MemberChange): void => listener(change)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  async note(key: string, value: string | undefined): Promise<void> {
    if (this.#notes.get(key) === value) return
    if (value === undefined) this.#notes.delete(key)
    else this.#notes.set(key, value)
    await this.#running?.lease.update()
  }

  async refresh(signal: AbortSignal = this.#stopping.signal): Promise<void> {
    if (this.#running === undefined || this.#stopping.signal.aborted) return
    const { lease, watch } = this.#running
    await lease.renew(signal)
    await watch.refresh(signal)
  }

  bury(identity: string): void {
    const { graves, lease, watch } = this.#running ?? {}
    const dead = watch?.roster.leases.find((one) => one.identity === identity && one.name !== lease?.name)
    if (dead === undefined) return
    graves?.add(dead, 0)
    watch?.died(dead)
  }

  explain(): string {
    return explainGroup({
      group: this.#options.group,
      isStarted: this.#running !== undefined,
      isStopped: this.#stopping.signal.aborted,
      members: this.members,
      isCurrent: this.isCurrent,
      problem: this.#running?.lease.problem ?? this.#running?.watch.problem,
    })
  }

  #assemble(host: MemberHost): Running {
    const { client, group, namespace, renewIntervalMs } = this.#options
    const links = this.#openLinks(this.#options)
    const { connection, proof } = links
    links.start?.()
    const { clock, logger } = client
    const lease = this.#createLease(host, links)
    const watch = new GroupWatch({
      ...this.#options,
      ...client,
      connection,
      self: memberLeaseName(group, host.identity),
      onChanges: (changes) => this.#changed(changes),
      onOwnLease: (seen) => lease.seen(seen),
    })
    const graves = new Graves({
      connection,
      clock,
      logger,
      namespace,
      requestTimeoutMs: renewIntervalMs,
      patienceMs: () => this.#patienceMs(host),
      isGone: (gone) => watch.roster.graves.some(({ uid }) => uid === gone.uid),
    })
    const deaths = proof && new MemberDeaths(proof, (dead) => watch.died(dead))
    const removeCheck = this.#addCheck(host, lease)
    this.#running = { host, links, lease, watch, graves, deaths, removeCheck }
    return this.#running
  }

  #createLease(host: MemberHost, { connection }: Links): OwnLease {
    const { client, group, labels, leaseDurationMs, namespace, pod, renewIntervalMs } = this.#options
    return new OwnLease({
      ...client,
      connection,
      renewIntervalMs,
      source: { group, namespace, identity: host.identity, durationMs: leaseDurationMs, labels, pod },
      facts: () => this.#facts(),
      onWritten: (sentAt, version) => {
        this.#counters.writes.inc('ok')
        this.#running?.watch.written(sentAt, version)
      },
      onFailed: () => {
        this.#counters.writes.inc('failed')
        this.#running?.watch.failed()
      },
    })
  }

  /** A rollout must not replace working replicas by replicas that cannot publish themselves. An outage later does not count. */
  #addCheck({ readyz }: MemberHost, lease: OwnLease): () => void {
    const registry = new HealthRegistry()
    registry.register(`membership-${this.#options.group}`, () => {
      if (lease.isPublished || this.#stopping.signal.aborted) return
      const why = lease.problem === undefined ? '' : `: ${lease.problem.message}`
      throw new Error(`the identity Lease of this replica has not been written yet${why}`)
    })
    return readyz.add(registry)
  }

  #changed(changes: readonly MemberChange[]): void {
    if (this.#running === undefined) return
    const { deaths, graves, lease, watch } = this.#running
    for (const change of changes) {
      this.#report(change)
      const grave = watch.roster.graves.find(({ name }) => name === change.member.lease)
      if (grave !== undefined) graves.add(grave)
    }
    deaths?.follow(watch.roster.leases.filter(({ name }) => name !== lease.name))
  }

  #report(change: MemberChange): void {
    const { logger } = this.#options.client
    const { kind, member } = change
    const { identity, address } = member
    const { group } = this.#options
    this.#counters.changes.inc(kind)
    logger.info({ event: `member-${kind}`, group, member: identity, address }, `${identity}: ${kind}`)
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (err) {
        logger.error({ event: `member-${kind}`, group, err }, `a listener failed: ${textOf(err)}`)
      }
    }
  }

  /** The leader buries at once, the others after it, in the order of their identities. */
  #patienceMs({ candidacies, identity }: MemberHost): number {
    if (candidacies[0]?.state.kind === 'leading') return 0
    const rank = this.members.findIndex((member) => member.identity === identity)
    return this.#options.renewIntervalMs * (1 + Math.max(rank, 0))
  }

  #facts(): MemberFacts {
    const { address, version, zone } = this.#options
    const process = this.#running?.links.proof?.processRef
    return { address, version, zone, process, notes: Object.fromEntries(this.#notes) }
  }
}

function failOnRefusal(error: unknown): void {
  if (isRefusal(error)) throw error
}
