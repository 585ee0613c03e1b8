import { type ExtensionHost, HealthRegistry } from '@tenure/core'
import { textOf, type Timer } from '@tenure/core/internal'
import type { CollectionObserver } from '../reflector/collection-watch.ts'
import { CollectionWatch } from '../reflector/collection-watch.ts'
import { LEASES } from '../locks/lease/lease-object.ts'
import { explainGroup } from './explain-group.ts'
import { Graves } from './graves.ts'
import { type Links, openLinks } from './links.ts'
import type { Member, MemberChange } from './member.ts'
import { MemberDeaths } from './member-deaths.ts'
import { GROUP_LABEL, type MemberFacts, type MemberLease } from './member-lease.ts'
import type { Membership } from './membership.ts'
import type { ResolvedMembershipOptions } from './membership-options.ts'
import { LabelledCounter, metricsView, type MetricsView } from './metrics-view.ts'
import { isRefusal, OwnLease } from './own-lease.ts'
import { Roster } from './roster.ts'

/** The part of a manager that a member needs. */
export type MemberHost = Pick<ExtensionHost, 'identity' | 'candidacies' | 'readyz'>

const KINDS = ['joined', 'changed', 'suspect', 'left', 'gone'] as const

/** What exists while the member is started. */
interface Running {
  readonly host: MemberHost
  readonly links: Links
  readonly lease: OwnLease
  readonly roster: Roster
  readonly watch: CollectionWatch
  readonly graves: Graves
  readonly deaths: MemberDeaths | undefined
  readonly removeCheck: () => void
  work: Promise<unknown>
}

/**
 * The {@link Membership} of one group.
 *
 * Owns its connections, its Lease, the watch of the group and the timers. The {@link Roster} decides who is there; this class feeds it.
 */
export class GroupMembership implements Membership {
  readonly name: string
  readonly group = 'caches'
  readonly metrics: MetricsView
  readonly #options: ResolvedMembershipOptions
  readonly #openLinks: typeof openLinks
  readonly #listeners = new Set<(change: MemberChange) => void>()
  readonly #changes = new LabelledCounter<MemberChange['kind']>()
  readonly #writes = new LabelledCounter<'ok' | 'failed'>()
  readonly #notes = new Map<string, string>()
  readonly #stopping = new AbortController()
  /** Settles when the others can be seen, or the first attempt to see them has failed. */
  readonly #firstWatch = Promise.withResolvers<void>()
  #running: Running | undefined
  #timer: Timer | undefined
  #isConfirming = false
  #watchProblem: Error | undefined

  constructor(options: ResolvedMembershipOptions, open = openLinks) {
    this.#options = options
    this.#openLinks = open
    this.name = `membership ${options.group}`
    this.metrics = this.#metricsView()
    // Only the start waits for it.
    this.#firstWatch.promise.catch(() => {})
  }

  get members(): readonly Member[] {
    return this.#running?.roster.members ?? []
  }

  get self(): Member | undefined {
    if (this.#running === undefined) return undefined
    const { host, lease } = this.#running
    const { process: _, ...facts } = this.#facts()
    const { address, version, zone, notes } = facts
    const state = this.#stopping.signal.aborted ? 'left' : lease.problem === undefined ? 'living' : 'suspect'
    const { labels } = this.#options
    return { identity: host.identity, lease: lease.name, state, address, version, zone, labels, notes }
  }

  get isCurrent(): boolean {
    if (this.#running === undefined) return false
    const { roster, lease } = this.#running
    // A view without the own Lease cannot be right.
    return roster.isCurrent && (!lease.isPublished || roster.leases.some(({ name }) => name === lease.name))
  }

  async start(host: MemberHost): Promise<void> {
    const running = this.#assemble(host)
    this.#running = running
    try {
      await running.lease.publish().catch(failOnRefusal)
      const { signal } = this.#stopping
      running.work = Promise.all([running.lease.run(signal), running.watch.run(signal)])
      await this.#firstWatch.promise
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    const running = this.#running
    if (running === undefined || this.#stopping.signal.aborted) return
    await running.lease.withdraw(new AbortController().signal)
    this.#stopping.abort()
    this.#firstWatch.resolve()
    this.#timer?.cancel()
    running.removeCheck()
    await Promise.all([running.graves.close(), running.deaths?.close(), running.work])
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

  bury(identity: string): void {
    const { roster, lease, graves } = this.#running ?? {}
    const dead = roster?.leases.find((one) => one.identity === identity && one.name !== lease?.name)
    if (roster === undefined || dead === undefined) return
    graves?.add(dead, 0)
    this.#apply(roster.died(dead.name, dead.uid))
  }

  explain(): string {
    return explainGroup({
      group: this.#options.group,
      isStarted: this.#running !== undefined,
      isStopped: this.#stopping.signal.aborted,
      members: this.members,
      isCurrent: this.isCurrent,
      problem: this.#running?.lease.problem ?? this.#watchProblem,
    })
  }

  #assemble(host: MemberHost): Running {
    const { client, group, labels, leaseDurationMs, namespace, pod, renewIntervalMs } = this.#options
    const links = this.#openLinks(this.#options)
    const { connection, proof } = links
    const { clock, random, logger } = client
    const source = { group, namespace, identity: host.identity, durationMs: leaseDurationMs, labels, pod }
    const lease = new OwnLease({
      ...{ connection, clock, random, logger, source, renewIntervalMs },
      facts: () => this.#facts(),
      onWritten: (sentAt, version) => this.#written(sentAt, version),
      onFailed: () => this.#writeFailed(),
    })
    const silenceMs = Math.min(4000, renewIntervalMs)
    const selection = { ...LEASES, namespace, labelSelector: `${GROUP_LABEL}=${group}` }
    const watch = new CollectionWatch({
      ...{ connection, clock, random, selection, silenceMs },
      observer: this.#observer(),
    })
    const graves = new Graves({
      ...{ connection, clock, logger, namespace, requestTimeoutMs: renewIntervalMs },
      patienceMs: () => this.#patienceMs(),
      isGone: (gone) => roster.graves.some(({ name, uid }) => name === gone.name && uid === gone.uid),
    })
    const roster = new Roster({ self: lease.name, leaseDurationMs, renewIntervalMs })
    const deaths = proof && new MemberDeaths(proof, (dead) => this.#apply(roster.died(dead.name, dead.uid)))
    const removeCheck = this.#addCheck(host, lease)
    return { host, links, lease, roster, watch, graves, deaths, removeCheck, work: Promise.resolve() }
  }

  /** A replica that was never able to publish itself must not replace one that was. An outage later does not count. */
  #addCheck({ readyz }: MemberHost, lease: OwnLease): () => void {
    const registry = new HealthRegistry()
    registry.register(`membership-${this.#options.group}`, () => {
      if (lease.isPublished || this.#stopping.signal.aborted) return
      const why = lease.problem === undefined ? '' : `: ${lease.problem.message}`
      throw new Error(`the identity Lease of this replica has not been written yet${why}`)
    })
    return readyz.add(registry)
  }

  #observer(): CollectionObserver {
    const now = () => this.#options.client.clock.now()
    return {
      listed: (objects, version) => {
        this.#watchProblem = undefined
        const { lease, roster } = this.#known
        this.#apply(roster.listed(objects, version, now()))
        lease.seen(objects.get(lease.name) ?? { kind: 'absent', version })
      },
      changed: (name, seen) => {
        const { lease, roster } = this.#known
        this.#apply(roster.changed(name, seen, now()))
        if (name === lease.name) lease.seen(seen)
      },
      up: () => {
        this.#known.roster.connected(now())
        this.#firstWatch.resolve()
        this.#schedule()
      },
      down: (cause) => this.#disconnected(cause),
    }
  }

  #disconnected(cause: Error): void {
    const { logger } = this.#options.client
    const { group, namespace } = this.#options
    if (this.#watchProblem?.message !== cause.message) {
      const what = `the watch of the group is disconnected: ${textOf(cause)}`
      logger.warn({ event: 'members-unseen', namespace, group, err: cause }, what)
    }
    this.#watchProblem = cause
    this.#known.roster.disconnected()
    if (isRefusal(cause)) this.#firstWatch.reject(cause)
    else this.#firstWatch.resolve()
  }

  #written(sentAt: number, version: bigint): void {
    this.#writes.inc('ok')
    const { roster, watch } = this.#known
    roster.confirmed(sentAt, this.#options.client.clock.now())
    watch.expect(version)
    this.#schedule()
  }

  #writeFailed(): void {
    this.#writes.inc('failed')
    this.#known.roster.failed()
  }

  #apply(changes: readonly MemberChange[]): void {
    const { deaths, graves, lease, roster } = this.#known
    for (const change of changes) {
      this.#report(change)
      const grave = roster.graves.find(({ name }) => name === change.member.lease)
      if (grave !== undefined && change.kind === 'gone') graves.add(grave)
    }
    if (changes.length > 0) deaths?.follow(roster.leases.filter(({ name }) => name !== lease.name))
    this.#schedule()
  }

  #report(change: MemberChange): void {
    const { logger } = this.#options.client
    const { kind, member } = change
    this.#changes.inc(kind)
    const { identity, address } = member
    const group = this.#options.group
    logger.info({ event: `member-${kind}`, group, member: identity, address }, `${identity}: ${kind}`)
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (err) {
        logger.error({ event: `member-${kind}`, group, err }, `a listener failed: ${textOf(err)}`)
      }
    }
  }

  /** Waits for the next time at which time alone changes something. */
  #schedule(): void {
    this.#timer?.cancel()
    if (this.#stopping.signal.aborted || this.#isConfirming) return
    const { clock } = this.#options.client
    const at = this.#known.roster.nextAt()
    if (at !== undefined) this.#timer = clock.setTimer(at - clock.now(), () => this.#tick())
  }

  #tick(): void {
    const { roster } = this.#known
    const now = this.#options.client.clock.now()
    const expired = roster.expired(now)
    this.#apply(roster.tick(now))
    if (expired.length > 0) void this.#confirm(expired)
  }

  /** A consistent read decides whether members whose time is over are gone: the watch may be late. */
  async #confirm(expired: readonly MemberLease[]): Promise<void> {
    if (this.#isConfirming) return
    this.#isConfirming = true
    const { roster, watch } = this.#known
    const { clock } = this.#options.client
    const sentAt = clock.now()
    try {
      const listing = await watch.read(this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
      const now = clock.now()
      roster.confirmed(sentAt, now)
      this.#apply(
        roster.listed(
          listing.only(() => true),
          listing.version,
          now,
        ),
      )
      this.#apply(roster.drop(expired, now))
    } catch {
      // The time of all members starts again with the next success.
      roster.failed()
    } finally {
      this.#isConfirming = false
      this.#schedule()
    }
  }

  /** The leader buries at once, the others after it, in the order of their identities. */
  #patienceMs(): number {
    const { host } = this.#known
    if (host.candidacies[0]?.state.kind === 'leading') return 0
    const rank = this.members.findIndex(({ identity }) => identity === host.identity)
    return this.#options.renewIntervalMs * (1 + Math.max(rank, 0))
  }

  #facts(): MemberFacts {
    const { address, version, zone } = this.#options
    const process = this.#running?.links.proof?.processRef
    return { address, version, zone, process, notes: Object.fromEntries(this.#notes) }
  }

  get #known(): Running {
    if (this.#running === undefined) throw new Error('Expected the membership to be started')
    return this.#running
  }

  #metricsView(): MetricsView {
    const { group } = this.#options
    const states = ['living', 'suspect'] as const
    const count = (state: Member['state']) => this.members.filter((member) => member.state === state).length
    return metricsView([
      {
        name: 'tenure_members',
        help: 'Members of a group as this replica sees them, by state.',
        type: 'gauge',
        labelNames: ['group', 'state'],
        values: () => states.map((state) => ({ labels: { group, state }, value: count(state) })),
      },
      {
        name: 'tenure_member_changes_total',
        help: 'Changes of members of a group as this replica saw them, by kind.',
        type: 'counter',
        labelNames: ['group', 'kind'],
        values: () => this.#changes.values('kind', KINDS, { group }),
      },
      {
        name: 'tenure_member_writes_total',
        help: 'Writes of the identity Lease of this replica, by outcome.',
        type: 'counter',
        labelNames: ['group', 'outcome'],
        values: () => this.#writes.values('outcome', ['ok', 'failed'], { group }),
      },
    ])
  }
}

function failOnRefusal(error: unknown): void {
  if (isRefusal(error)) throw error
}
